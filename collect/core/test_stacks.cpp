#include "core/test_stacks.h"

#include <alloca.h>
#include <stdlib.h>

namespace {
volatile int sink;
}

#define VISIBLE __attribute__((visibility("default"), noinline))

extern "C" VISIBLE void test_stack_plain(TestLeaf leaf, void* data, int depth) {
  volatile char room[24];
  room[0] = static_cast<char>(depth);
  depth > 1 ? test_stack_plain(leaf, data, depth - 1) : leaf(data);
  sink = room[0];
}

extern "C" VISIBLE void test_stack_realigned(TestLeaf leaf, void* data, int depth) {
  alignas(64) volatile char room[64];
  room[0] = static_cast<char>(depth);
  depth > 1 ? test_stack_realigned(leaf, data, depth - 1) : leaf(data);
  sink = room[0];
}

extern "C" VISIBLE void test_stack_variable(TestLeaf leaf, void* data, int depth) {
  auto* room = static_cast<volatile char*>(alloca(static_cast<size_t>(depth) * 100 + 1));
  alignas(64) volatile char aligned[64];
  room[0] = static_cast<char>(depth);
  aligned[0] = static_cast<char>(depth);
  depth > 1 ? test_stack_variable(leaf, data, depth - 1) : leaf(data);
  sink = room[0] + aligned[0];
}

namespace {
struct Job {
  TestLeaf leaf;
  void* data;
};
thread_local Job* job;
}  // namespace

extern "C" VISIBLE void test_stack_sort(TestLeaf leaf, void* data) {
  Job mine{leaf, data};
  job = &mine;
  int numbers[2] = {2, 1};
  qsort(numbers, 2, sizeof numbers[0], [](const void* a, const void* b) {
    job->leaf(job->data);
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  sink = numbers[0];
}

// No .cfi directives: there is no unwind information for this code.
asm(R"(
.text
.globl test_stack_bad_frame_pointer
.type test_stack_bad_frame_pointer, @function
test_stack_bad_frame_pointer:
  push %rbp
  mov %rdx, %rbp
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  pop %rbp
  ret
.size test_stack_bad_frame_pointer, . - test_stack_bad_frame_pointer
)");

// A function's unwind entry may point to a table of exception handlers, by a distance. In huge
// libraries that distance has no zero byte, and must not be read as anything else.
asm(R"(
.bss
.zero 0x2000000
.type test_stack_far_table, @object
test_stack_far_table:
.zero 4
.size test_stack_far_table, 4
.text
.globl test_stack_far_handlers
.type test_stack_far_handlers, @function
test_stack_far_handlers:
  .cfi_startproc
  .cfi_lsda 0x1b, test_stack_far_table
  sub $24, %rsp
  .cfi_def_cfa_offset 32
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  add $24, %rsp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
.size test_stack_far_handlers, . - test_stack_far_handlers
)");

// Saves the registers that a call preserves, and overwrites them, in the way of
//   test_stack_from_rbx(leaf, data): CFA = rbx + 16, and rbp saved at rbp itself, as Intel's
//   compiler test_stack_from_r12..r15(leaf, data): CFA = r12..r15 + 16
// Each calls the leaf by test_stack_overwrite, so that those registers are found on the stack only.
asm(R"(
.text
.type test_stack_overwrite, @function
test_stack_overwrite:
  .cfi_startproc
  .irp reg, rbx, rbp, r12, r13, r14, r15
  push %\reg
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset \reg, 0
  mov $0x34b7d7c8, %\reg
  .endr
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  .irp reg, r15, r14, r13, r12, rbp, rbx
  pop %\reg
  .cfi_adjust_cfa_offset -8
  .cfi_restore \reg
  .endr
  ret
  .cfi_endproc
.size test_stack_overwrite, . - test_stack_overwrite

.globl test_stack_from_rbx
.type test_stack_from_rbx, @function
test_stack_from_rbx:
  .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset rbx, -16
  mov %rsp, %rbx
  .cfi_def_cfa_register rbx
  and $-64, %rsp
  sub $56, %rsp
  push %rbp
  mov %rsp, %rbp
  .cfi_escape 0x10, 6, 2, 0x76, 0
  sub $64, %rsp
  call test_stack_overwrite
  mov (%rbp), %rbp
  .cfi_restore rbp
  mov %rbx, %rsp
  .cfi_def_cfa rsp, 16
  pop %rbx
  .cfi_restore rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
.size test_stack_from_rbx, . - test_stack_from_rbx

.irp reg, r12, r13, r14, r15
.globl test_stack_from_\reg
.type test_stack_from_\reg, @function
test_stack_from_\reg:
  .cfi_startproc
  push %\reg
  .cfi_def_cfa_offset 16
  .cfi_offset \reg, -16
  mov %rsp, %\reg
  .cfi_def_cfa_register \reg
  and $-64, %rsp
  call test_stack_overwrite
  mov %\reg, %rsp
  .cfi_def_cfa rsp, 16
  pop %\reg
  .cfi_restore \reg
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
.size test_stack_from_\reg, . - test_stack_from_\reg
.endr
)");

// The beginning of a frame that GCC realigns: the CFA is r10, which no call preserves.
asm(R"(
.text
.globl test_stack_trap_in_realignment
.type test_stack_trap_in_realignment, @function
test_stack_trap_in_realignment:
  .cfi_startproc
  lea 8(%rsp), %r10
  .cfi_def_cfa r10, 0
  and $-64, %rsp
  int3
  nop
  lea -8(%r10), %rsp
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc
.size test_stack_trap_in_realignment, . - test_stack_trap_in_realignment
)");
