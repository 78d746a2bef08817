// Reads one event stream (WHATWG HTML, 9.2.6): UTF-8 with or without a byte order mark,
// lines that end with CR, LF or both, comments, and fields of which data, event, id and
// retry mean something. An event named message, or not named at all, is a message; its
// data are delivered.
//
// A reader is fed with the payloads of HEAD and DATA in order; how the stream was cut
// into those makes no difference to what it delivers. Names and ids are copied; data,
// which can be megabytes, stay with the host. Data lines are delivered with their line
// ends, which are white space in JSON, so that several lines need no joining, and an
// event that is complete within one payload is delivered in one piece, which spares the
// host from collecting it.
#ifndef READER_H
#define READER_H

#include "text.h"

enum {
	MAX_ID = 1 << 10,       // the longest id that is remembered; longer ones are ignored
	MAX_LINE = MAX_ID + 16, // how much of a line is looked at: a longer one has no short value
};

// Where in a line a stream stands.
typedef enum {
	IN_LINE, // the start of a line, or anywhere in one that is no data
	IN_DATA, // the value of data
	IN_REST, // what is of no interest, up to the end of the line
} place;

// The bytes that a reader remembers.
typedef struct {
	uint8_t line[MAX_LINE]; // the beginning of a line that is cut and not known to be data
	uint8_t id[MAX_ID];     // of the last complete event that had one
	uint8_t new_id[MAX_ID]; // of the current event; counts when that is complete
} memo;

// What the current event said so far.
typedef struct {
	bool over;    // and reader_next has returned it
	bool seen;    // it has a field that is known
	bool open;    // a part of its data is delivered
	bool other;   // it has a name that is not that of messages
	bool has_id;
	uint32_t id_len;
	uint64_t size; // bytes of data
	int32_t verdict;
} occasion;

typedef struct {
	uint32_t exchange; // what messages are delivered to
	memo *memo;        // owned by the caller

	place place;
	bool begun;      // the start was checked for a byte order mark
	uint32_t marked; // bytes of it that were there
	bool cr;         // the last line ended with CR, so LF next is a part of that end
	uint32_t line_len;

	uint32_t id_len;
	uint32_t retry;
	occasion event;
} reader;

// reader_next reads p up to the end of an event, which is over then, or to its own end.
// It returns where what follows begins. What the event was can be asked until the next
// call. An event without any field is not one, nor is a comment.
uint32_t reader_next(reader *r, window p);

// reader_id returns the id to resume from, that of the last complete event which had
// one. It can stand in a header.
text reader_id(const reader *r);

// reader_set_id makes id the one to resume from, or none where it could not be sent.
void reader_set_id(reader *r, text id);

// reader_restart makes r ready for the stream that goes on where this one ended. An
// event that was not complete is dropped; id and retry stay.
void reader_restart(reader *r);

#endif
