#pragma once
// The parts of the program that the tests measure.

#include <cstddef>
#include <cstdint>

namespace numa_test {

/// Prints "name address", for the test.
void tell(const char* name, const volatile void* address);
/// Whole pages, from posix_memalign.
void* pages(size_t count);
/// Runs `count` threads, each with its number, and joins them.
void run(size_t count, void* (*work)(void*));

int objects();
int locks();
int waits();
int c11();
int errors();
int forks();
int executes();
int jumps();
int exits();
int aborts();
int leaves();
int is_killed();
int memory();
int small_stack();
int main_leaves();
int cancels();
int signals();

}  // namespace numa_test
