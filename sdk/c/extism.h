// The door to the host: what Extism's kernel offers a module, as far as an auth
// provider of Wharf needs it. Input and output lie in the kernel's memory, which
// is not ours, and are moved by words.
#ifndef EXTISM_H
#define EXTISM_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL(name) \
	__attribute__((import_module("extism:host/env"), import_name(#name))) extern
#define EXPORT(name) __attribute__((export_name(#name)))

KERNEL(input_length) uint64_t kernel_input_length(void);
KERNEL(input_load_u64) uint64_t kernel_input_load_u64(uint64_t at);
KERNEL(input_load_u8) uint32_t kernel_input_load_u8(uint64_t at);
KERNEL(alloc) uint64_t kernel_alloc(uint64_t size);
KERNEL(store_u64) void kernel_store_u64(uint64_t at, uint64_t value);
KERNEL(store_u8) void kernel_store_u8(uint64_t at, uint32_t value);
KERNEL(output_set) void kernel_output_set(uint64_t at, uint64_t size);
KERNEL(error_set) void kernel_error_set(uint64_t at);

// The bounds of the contract.
enum { MAX_CALL = 1 << 20, MAX_REPLY = 1 << 20 };

// Whole words are moved, so both have room for one more.
static union { char bytes[MAX_CALL]; uint64_t words[MAX_CALL / 8 + 1]; } input;
static union { char bytes[MAX_REPLY]; uint64_t words[MAX_REPLY / 8 + 1]; } output;
static uint32_t output_size;

// receive copies the input, and returns its size; 0 if it is larger than the
// contract allows.
static inline uint32_t receive(void) {
	uint64_t size = kernel_input_length(), at = 0;
	if (size > MAX_CALL) return 0;
	for (; at + 8 <= size; at += 8) input.words[at / 8] = kernel_input_load_u64(at);
	for (; at < size; at++) input.bytes[at] = (char)kernel_input_load_u8(at);
	return (uint32_t)size;
}

// stored copies size bytes of words to the kernel.
static inline uint64_t stored(const uint64_t *words, uint32_t size) {
	uint64_t to = kernel_alloc(size);
	uint32_t at = 0;
	for (; at + 8 <= size; at += 8) kernel_store_u64(to + at, words[at / 8]);
	for (; at < size; at++) kernel_store_u8(to + at, ((const uint8_t *)words)[at]);
	return to;
}

// reply makes what was written the output.
static inline int32_t reply(void) {
	kernel_output_set(stored(output.words, output_size), output_size);
	return 0;
}

// broken ends a call without a reply: the host shows what was written as the error.
static inline int32_t broken(void) {
	kernel_error_set(stored(output.words, output_size));
	return 1;
}

#endif
