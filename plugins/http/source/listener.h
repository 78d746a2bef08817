// The stream for what belongs to no message (2025-11-25, basic/transports, listening for
// messages). A server need not have one, and whatever becomes of it harms no call.
#ifndef LISTENER_H
#define LISTENER_H

#include "calls.h"

// The timer of the next attempt to listen, and that of a message that is held for the
// listener.
#define LISTENER_TIMER 0
#define HOLD_TIMER (UINT32_MAX - 1)

// listener_is_deaf reports whether the session has not begun to listen.
bool listener_is_deaf(void);

// listener_is reports whether a handle, which is not 0, is the listener's.
bool listener_is(uint32_t handle);

// listener_begin opens the listener of a session, once: when a message of the session
// was taken, as the handshake is over then.
void listener_begin(void);

// listener_first begins to listen before it says that c, which the server took, is done:
// what the server sends because of the next message finds a listener then. A server that
// takes its time with that is not waited for.
void listener_first(call *c);

// listener_open opens the listener.
void listener_open(void);

// listener_release says that the message which is held is done, if there is one;
// listener_holds reports whether it is that of an exchange.
void listener_release(void);
bool listener_holds(uint32_t exchange);

// listener_stop forgets the listener of a session that is over.
void listener_stop(void);

// listener_leave is for the end of the connection: a listener that ends is not opened
// again.
void listener_leave(void);

// listener_resume makes an id the one to go on from.
void listener_resume(text id);

// listener_take takes one event of the listener's response. Below zero it is the status
// of the event.
int32_t listener_take(const event *e);

#endif
