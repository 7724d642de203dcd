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
/// The table of exception handlers lies more than 16 MiB away.
void test_stack_far_handlers(TestLeaf leaf, void* data);
/// Frames whose CFA is a register that inner frames have overwritten.
void test_stack_from_rbx(TestLeaf leaf, void* data);
void test_stack_from_r12(TestLeaf leaf, void* data);
void test_stack_from_r13(TestLeaf leaf, void* data);
void test_stack_from_r14(TestLeaf leaf, void* data);
void test_stack_from_r15(TestLeaf leaf, void* data);
/// Raises SIGTRAP where the CFA is r10.
void test_stack_trap_in_realignment();
/// Calls the leaf while rbp holds `value`, from code without unwind information.
void test_stack_bad_frame_pointer(TestLeaf leaf, void* data, unsigned long value);
}
