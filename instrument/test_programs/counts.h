#pragma once
// What counting_runtime.cpp offers to the test programs.

void print_counts(const char* name, const void* from, unsigned long size);
void print_calls(void);
void clear_counts(void);

#define ALONE __attribute__((aligned(64)))
#define OPAQUE __attribute__((noinline))
