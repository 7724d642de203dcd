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
