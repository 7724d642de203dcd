#pragma once
// Functions whose stack frames have the shapes that an unwinder meets; compiled without frame
// pointers. Each calls `leaf(data)` in the end.

extern "C" {
using TestLeaf = void (*)(void* data);
void test_stack_plain(TestLeaf leaf, void* data, int depth);
/// Frames that the compiler aligns to 64 bytes: their CFA is stored in memory or in rbp.
void test_stack_realigned(TestLeaf leaf, void* data, int depth);
/// Frames of a size that is known at run time only.
void test_stack_variable(TestLeaf leaf, void* data, int depth);
/// Through the C library's qsort.
void test_stack_sort(TestLeaf leaf, void* data);
/// Calls the leaf while rbp holds `value`, from code without unwind information.
void test_stack_bad_frame_pointer(TestLeaf leaf, void* data, unsigned long value);
}
