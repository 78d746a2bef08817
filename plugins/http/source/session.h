// What the server gave with its answer to initialize (2025-11-25, basic/transports,
// session management). The modern era has none, and a legacy server need not give an
// id: then no header is sent.
//
// A session is of the epoch after that of its initialize. A message says which epoch it
// is of, and so what the server says to it can be held against the session it was sent
// in: a late 404 of an old one does not end the new one.
#ifndef SESSION_H
#define SESSION_H

#include "text.h"

// The id, which is empty where there is none, and the version of the protocol, as
// messages of the session have it.
text session_id(void);
text session_version(void);

// session_lost reports whether a message belongs to a session that is no more. A
// message of the epoch to come, an initialize, is known by having no version.
bool session_lost(uint32_t epoch, text version);

// session_lives reports whether the session is of that epoch, and the server knows it.
bool session_lives(uint32_t epoch);

// session_meet reports whether a message belongs to the session. One of the modern era
// never does, nor does an initialize, which is of the epoch before. The session learns
// its version from those that do.
bool session_meet(uint32_t epoch, text version);

// session_begin is for the answer to an initialize of the epoch before. It returns
// false, and there is no session, where there is no memory for its id.
bool session_begin(uint32_t epoch, text id);

// session_forget ends the session of an epoch, and reports whether it was this one.
bool session_forget(uint32_t epoch);

// session_save saves the session for an instance to come, and the id of the last event
// that the listener saw. Where that is too much to be kept, the instance will start
// without.
void session_save(text last);

// session_restore is the inverse of session_save, and returns the id of that event.
text session_restore(text state);

#endif
