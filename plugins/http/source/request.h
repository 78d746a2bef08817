// The open request of the moment. It is valid until the next one is made.
#ifndef REQUEST_H
#define REQUEST_H

#include "text.h"

// The media types of MCP over HTTP.
#define MEDIA_JSON "application/json"
#define MEDIA_EVENTS "text/event-stream"

// request_post opens the exchange of a message, whose facts are the current block: the
// headers that mirror it come with those, ready to be sent. session is empty where it
// is sent in none. It returns a handle, or below zero a status.
int32_t request_post(uint32_t exchange, text version, text session);

// request_bare opens an exchange in the session, and sends it: it has no body.
int32_t request_bare(uint32_t exchange, text method, text last_id);

#endif
