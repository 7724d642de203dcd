#include "core/unwinder.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/call_paths.h"
#include "core/test_stacks.h"
#include "record/test_reader.h"

namespace fathom::collect {
namespace {

struct Both {
  CallStack ours;
  std::vector<void*> theirs;  ///< return addresses, by glibc
  Unwinder* unwinder = nullptr;
  Both() {  // a signal handler must not allocate, as the first call of backtrace() does
    theirs.reserve(4096);
    void* frame = nullptr;
    backtrace(&frame, 1);
  }
};

/// Takes the stack in both ways at the same place.
void take(void* data) {
  auto& both = *static_cast<Both*>(data);
  both.unwinder->walk(both.ours);
  both.theirs.resize(4096);
  both.theirs.resize(static_cast<size_t>(backtrace(both.theirs.data(), 4096)));
}

std::string describe(uintptr_t address) {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(address), &info);
  char text[512];
  std::snprintf(text, sizeof text, "%#lx %s in %s", static_cast<unsigned long>(address),
                info.dli_sname == nullptr ? "?" : info.dli_sname,
                info.dli_fname == nullptr ? "?" : info.dli_fname);
  return text;
}

/// Both see the same callers of take(), up to the depth that we walk. Frame `interrupted` is at an
/// instruction that a signal came before, and not at a call.
void expect_same(const Both& both, size_t interrupted = kMaxFrames) {
  // The first frame of each lies in take() itself, at different calls; a sanitizer may put its own
  // function before that.
  ASSERT_GE(both.ours.size, 2u);
  const auto caller = std::find(both.theirs.begin(), both.theirs.end(),
                                reinterpret_cast<void*>(both.ours.frames[1] + 1));
  ASSERT_LE(caller - both.theirs.begin(), 2) << describe(both.ours.frames[1]);
  const std::vector<void*> callers(caller, both.theirs.end());
  size_t count = callers.size();
  if (callers.back() == nullptr) --count;  // some versions end with a null
  count = std::min(count, kMaxFrames - 1);
  EXPECT_EQ(both.ours.size - 1, count);
  for (size_t i = 1; i < std::min(both.ours.size, count + 1); ++i)
    ASSERT_EQ(both.ours.frames[i] + (i == interrupted ? 0 : 1),
              reinterpret_cast<uintptr_t>(callers[i - 1]))
        << "frame " << i << ": " << describe(both.ours.frames[i]) << " instead of "
        << describe(reinterpret_cast<uintptr_t>(callers[i - 1]));
}

class UnwinderTest : public testing::Test {
 protected:
  Both& both() {
    both_.unwinder = &unwinder_;
    return both_;
  }
  Unwinder unwinder_;
  Both both_;
};

TEST_F(UnwinderTest, AgreesWithGlibcOnAnOrdinaryStack) {
  take(&both());
  expect_same(both());
  EXPECT_TRUE(both().ours.complete);
}

TEST_F(UnwinderTest, AgreesWithoutFramePointersAndAgainFromItsCache) {
  for (int i = 0; i < 3; ++i) {
    test_stack_plain(take, &both(), 20);
    expect_same(both());
    EXPECT_TRUE(both().ours.complete);
  }
}

TEST_F(UnwinderTest, AgreesOnRealignedAndVariableSizedFrames) {
  for (int i = 0; i < 3; ++i) {
    test_stack_realigned(take, &both(), 5);
    expect_same(both());
    test_stack_variable(take, &both(), 5);
    expect_same(both());
  }
}

TEST_F(UnwinderTest, AgreesWhereTheTableOfHandlersIsFarAway) {
  test_stack_far_handlers(take, &both());
  expect_same(both());
  EXPECT_TRUE(both().ours.complete);
}

TEST_F(UnwinderTest, AgreesOnFramesThatStandOnOtherRegisters) {
  for (const auto function : {test_stack_from_rbx, test_stack_from_r12, test_stack_from_r13,
                              test_stack_from_r14, test_stack_from_r15}) {
    function(take, &both());
    expect_same(both());
    EXPECT_TRUE(both().ours.complete);
  }
}

/// Frames of equal size that differ by nothing but the place of the call.
__attribute__((noinline)) int call_from_one_of_three(int place, void (*work)(void*), void* data) {
  volatile int result = place;
  switch (place) {
    case 0:
      work(data);
      return result + 1;
    case 1:
      work(data);
      return result + 2;
    default:
      work(data);
      return result + 3;
  }
}

TEST_F(UnwinderTest, AgreesWhenInnerOuterOrAllFramesHaveChangedSinceTheLastWalk) {
  std::mt19937 random(3);
  struct Nested {
    Both* both;
    unsigned shape;
  } nested{&both(), 0};
  const auto inner = [](void* data) {
    const auto& in = *static_cast<Nested*>(data);
    const int depth = static_cast<int>(in.shape >> 4 & 3);
    switch (in.shape >> 2 & 3) {
      case 0:
        test_stack_plain(take, in.both, depth);
        break;
      case 1:
        test_stack_realigned(take, in.both, depth);
        break;
      case 2:
        test_stack_variable(take, in.both, depth);
        break;
      default:
        take(in.both);
    }
  };
  for (int i = 0; i < 2000; ++i) {
    // Most walks repeat the last one in part or in whole.
    if (random() % 3) nested.shape = static_cast<unsigned>(random());
    call_from_one_of_three(static_cast<int>(nested.shape & 3), inner, &nested);
    expect_same(both());
    ASSERT_TRUE(both().ours.complete);
    CallStack fresh;
    Unwinder other;
    other.walk(fresh);
    ASSERT_EQ(fresh.complete, true);
  }
}

TEST_F(UnwinderTest, TheSameStackHasTheSameHashHoweverItWasFound) {
  Both first, again, changed;
  first.unwinder = again.unwinder = changed.unwinder = &unwinder_;
  const volatile int rounds = 2;  // keeps the compiler from making two calls of it
  for (int i = 0; i < rounds; ++i) {
    Both* both_of = i == 0 ? &first : &again;
    call_from_one_of_three(
        1, [](void* data) { take(data); }, both_of);
    call_from_one_of_three(
        2, [](void* data) { take(data); }, &changed);
  }
  EXPECT_EQ(first.ours.hash, again.ours.hash);
  EXPECT_NE(first.ours.hash, changed.ours.hash);
}

TEST_F(UnwinderTest, AgreesThroughASharedLibraryAndCLibraryCallbacks) {
  void* library = dlopen(TEST_STACKS_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto sort = reinterpret_cast<decltype(&test_stack_sort)>(dlsym(library, "test_stack_sort"));
  ASSERT_NE(sort, nullptr);
  sort(take, &both());
  expect_same(both());
  EXPECT_TRUE(both().ours.complete);
  dlclose(library);
}

TEST_F(UnwinderTest, MarksAStackThatIsTooDeep) {
  test_stack_plain(take, &both(), 400);
  expect_same(both());
  EXPECT_EQ(both().ours.size, kMaxFrames);
  EXPECT_FALSE(both().ours.complete);
}

TEST_F(UnwinderTest, AgreesOnOtherThreads) {
  std::thread([] {
    Unwinder unwinder;
    Both both;
    both.unwinder = &unwinder;
    test_stack_plain(take, &both, 10);
    expect_same(both);
    EXPECT_TRUE(both.ours.complete);
  }).join();
}

Both* in_signal = nullptr;

/// Takes the stack in a handler of a signal that `cause` raises.
template <class Cause>
void expect_same_in_handler(Both& both, int number, Cause cause) {
  in_signal = &both;
  signal(number, [](int) { take(in_signal); });
  cause();
  signal(number, SIG_DFL);
  const auto is_exact = [&both](uintptr_t address) {
    const auto& theirs = both.theirs;
    return std::find(theirs.begin(), theirs.end(), reinterpret_cast<void*>(address)) !=
           theirs.end();
  };
  size_t interrupted = 1;
  while (interrupted < both.ours.size && !is_exact(both.ours.frames[interrupted])) ++interrupted;
  EXPECT_LE(interrupted, 6u) << "take(), the handler, the kernel's trampoline, raise()";
  expect_same(both, interrupted);
  EXPECT_TRUE(both.ours.complete);
}

TEST_F(UnwinderTest, WalksThroughASignalHandlersFrame) {
  expect_same_in_handler(both(), SIGUSR1, [] { raise(SIGUSR1); });
}

TEST_F(UnwinderTest, WalksFromTheBeginningOfARealignedFrame) {
  expect_same_in_handler(both(), SIGTRAP, test_stack_trap_in_realignment);
}

ucontext_t main_context, own_context;
Both* in_coroutine = nullptr;

TEST_F(UnwinderTest, WalksAStackThatTheProgramMadeItself) {
  // A guard page above the stack: a read beyond its end would fault.
  constexpr size_t kSize = 64 << 10, kPage = 4096;
  auto* memory = static_cast<char*>(
      mmap(nullptr, kSize + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  mprotect(memory + kSize, kPage, PROT_NONE);
  in_coroutine = &both();
  getcontext(&own_context);
  own_context.uc_stack.ss_sp = memory;
  own_context.uc_stack.ss_size = kSize;
  own_context.uc_link = &main_context;
  makecontext(
      &own_context, [] { test_stack_plain(take, in_coroutine, 10); }, 0);
  swapcontext(&main_context, &own_context);
  EXPECT_GE(both().ours.size, 12u);
  const auto caller = std::find(both().theirs.begin(), both().theirs.end(),
                                reinterpret_cast<void*>(both().ours.frames[1] + 1));
  ASSERT_GE(both().theirs.end() - caller, 11);
  for (size_t i = 1; i < 12; ++i)
    EXPECT_EQ(both().ours.frames[i] + 1, reinterpret_cast<uintptr_t>(caller[i - 1]));
  munmap(memory, kSize + kPage);
}

TEST_F(UnwinderTest, ADamagedFramePointerEndsTheWalkButNotTheProgram) {
  for (const uintptr_t bad : {uintptr_t(0), uintptr_t(1), uintptr_t(8), ~uintptr_t(0) - 7,
                              reinterpret_cast<uintptr_t>(&main_context)}) {
    test_stack_bad_frame_pointer(take, &both(), bad);
    EXPECT_GE(both().ours.size, 1u);
    EXPECT_LE(both().ours.size, kMaxFrames);
  }
}

TEST_F(UnwinderTest, AFramePointerIsNotBelievedWhereItLeadsToNoCode) {
  const auto data = std::make_unique<uintptr_t[]>(2);
  // Volatile, so that it really lies on the stack, as what rbp happens to point to.
  volatile uintptr_t words[2] = {0, reinterpret_cast<uintptr_t>(data.get())};
  test_stack_bad_frame_pointer(take, &both(), reinterpret_cast<uintptr_t>(&words[0]));
  ASSERT_GE(both().ours.size, 2u);
  const uintptr_t last = both().ours.frames[both().ours.size - 1];
  EXPECT_LT(last - reinterpret_cast<uintptr_t>(&test_stack_bad_frame_pointer), 32u)
      << describe(last);
  EXPECT_FALSE(both().ours.complete);
}

TEST_F(UnwinderTest, LeavesErrnoAlone) {
  errno = 4321;
  unwinder_.walk(both().ours);
  EXPECT_EQ(errno, 4321);
}

TEST_F(UnwinderTest, ForgettingRecipesChangesNothing) {
  test_stack_plain(take, &both(), 5);
  unwinder_.forget();
  test_stack_plain(take, &both(), 5);
  expect_same(both());
}

/// This program's own unwind tables, copied: they are relative to where they lie.
struct CopiedTables {
  std::vector<uint8_t> bytes;
  uintptr_t header = 0, original = 0;

  /// The segment holds other things too, with gaps that sanitizers guard.
  __attribute__((no_sanitize("address", "thread"))) static void copy(std::vector<uint8_t>& to,
                                                                     const volatile uint8_t* from) {
    uint8_t* out = to.data();
    for (size_t i = 0, size = to.size(); i < size; ++i) out[i] = from[i];
  }
  static int find(dl_phdr_info* info, size_t, void* data) {
    auto& out = *static_cast<CopiedTables*>(data);
    const auto* segments = info->dlpi_phdr;
    const auto* end = segments + info->dlpi_phnum;
    const auto* header = std::find_if(
        segments, end, [](const auto& segment) { return segment.p_type == PT_GNU_EH_FRAME; });
    const auto* around = std::find_if(segments, end, [header](const auto& segment) {
      return segment.p_type == PT_LOAD && segment.p_vaddr <= header->p_vaddr &&
             header->p_vaddr < segment.p_vaddr + segment.p_filesz;
    });
    out.original = info->dlpi_addr + around->p_vaddr;
    out.header = header->p_vaddr - around->p_vaddr;
    out.bytes.resize(around->p_filesz);
    copy(out.bytes, reinterpret_cast<const volatile uint8_t*>(out.original));
    return 1;
  }
  Recipe recipe(uintptr_t pc) const {
    const auto base = reinterpret_cast<uintptr_t>(bytes.data());
    return find_recipe(base + header, {base, base + bytes.size()}, pc - original + base);
  }
};

TEST(EhFrame, DamagedTablesNeverLeadOutOfThem) {
  CopiedTables tables;
  dl_iterate_phdr(CopiedTables::find, &tables);
  const auto own = reinterpret_cast<uintptr_t>(&take);
  const auto plain = reinterpret_cast<uintptr_t>(&test_stack_plain);
  ASSERT_EQ(tables.recipe(own).kind, Recipe::Kind::frame);
  ASSERT_EQ(tables.recipe(plain + 8).cfa_offset, find_recipe(plain + 8).cfa_offset);
  uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  const auto intact = tables.bytes;
  size_t unknown = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    for (int i = 0; i < 200; ++i) tables.bytes[next() % intact.size()] ^= next() & 255;
    for (const uintptr_t pc : {own, plain + 8, own + next() % 4096})
      unknown += tables.recipe(pc).kind == Recipe::Kind::unknown ? 1 : 0;
    if (trial % 16 == 0) tables.bytes = intact;
  }
  EXPECT_GT(unknown, 0u);
}

class CallPathsTest : public testing::Test {
 protected:
  CallPathsTest() {
    char pattern[] = "/tmp/fathom-paths-test-XXXXXX";
    close(mkstemp(pattern));
    path_ = pattern;
    EXPECT_TRUE(file_.open(path_, true));
  }
  ~CallPathsTest() override { unlink(path_.c_str()); }
  static CallStack stack(std::vector<uintptr_t> innermost_first, bool complete = true) {
    CallStack out;
    out.size = innermost_first.size();
    out.complete = complete;
    std::copy(innermost_first.begin(), innermost_first.end(), out.frames);
    out.hash = complete ? 1 : 2;
    for (const auto frame : innermost_first) out.hash = out.hash * 31 + frame;
    return out;
  }
  std::string path_;
  record::ChunkWriter file_;
  LoadModules modules_;
  CallPaths paths_;
};

TEST_F(CallPathsTest, SharesWhatStacksHaveInCommon) {
  const uint32_t first = paths_.intern(stack({10, 20, 30}), modules_, file_);
  const uint32_t again = paths_.intern(stack({10, 20, 30}), modules_, file_);
  const uint32_t other = paths_.intern(stack({11, 20, 30}), modules_, file_);
  const uint32_t cut = paths_.intern(stack({10, 20, 30}, false), modules_, file_);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_NE(first, cut);
  EXPECT_EQ(paths_.intern(stack({}), modules_, file_), record::kNone);
  file_.close();
  const auto nodes = record::records<record::CallPathNode>(record::read_chunks(path_),
                                                           record::ChunkType::call_path_node);
  ASSERT_EQ(nodes.size(), 7u);  // 30, 20, 10; 11; and the three of the cut stack
  EXPECT_EQ(nodes[0].parent, record::kNone);
  EXPECT_EQ(nodes[0].reserved, 0u);
  EXPECT_EQ(nodes[first].parent, nodes[other].parent);
  EXPECT_EQ(nodes[4].parent, record::kNone);
  EXPECT_EQ(nodes[4].reserved, kCallersMissing);
  for (const auto& node : nodes) EXPECT_TRUE(node.parent == record::kNone || node.parent < node.id);
}

TEST_F(CallPathsTest, PlacesAddressesInTheirModules) {
  Dl_info info{};
  const auto own = reinterpret_cast<uintptr_t>(&take);
  ASSERT_NE(dladdr(reinterpret_cast<void*>(own), &info), 0);
  const auto place = modules_.find(own);
  EXPECT_NE(place.module, record::kNone);
  modules_.write_new(file_);
  file_.close();
  for (const auto& module : record::text_records<record::LoadModule>(
           record::read_chunks(path_), record::ChunkType::load_module, 2))
    if (module.record.id == place.module) {
      EXPECT_EQ(place.address + module.record.bias, own);
      EXPECT_NE(module.strings[0].find("collect_core_test"), std::string::npos);
      EXPECT_EQ(module.strings[1].size(), 40u);
    }
}

TEST_F(CallPathsTest, NoticesLibrariesThatComeAndGo) {
  modules_.refresh();
  const uint32_t before = modules_.generation();
  void* library = dlopen(TEST_STACKS_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto address = reinterpret_cast<uintptr_t>(dlsym(library, "test_stack_sort"));
  const auto place = modules_.find(address);
  EXPECT_NE(place.module, record::kNone);
  EXPECT_EQ(modules_.generation(), before) << "a new library changes no address";
  dlclose(library);
  modules_.refresh();
  EXPECT_NE(modules_.generation(), before);
  EXPECT_EQ(modules_.find(address).module, record::kNone);
}

/// Not a judgement, since machines differ; a figure to look at.
TEST(UnwinderSpeed, IsReported) {
  Unwinder unwinder;
  struct Job {
    Unwinder* unwinder;
    CallStack stack;
    double ns;
  } job{&unwinder, {}, 0};
  for (const int depth : {8, 32, 128}) {
    test_stack_plain(
        [](void* data) {
          auto& in = *static_cast<Job*>(data);
          constexpr int kTrials = 2000;
          timespec begin{}, end{};
          in.unwinder->walk(in.stack);
          clock_gettime(CLOCK_MONOTONIC, &begin);
          for (int i = 0; i < kTrials; ++i) in.unwinder->walk(in.stack);
          clock_gettime(CLOCK_MONOTONIC, &end);
          in.ns = (static_cast<double>(end.tv_sec - begin.tv_sec) * 1e9 +
                   static_cast<double>(end.tv_nsec - begin.tv_nsec)) /
                  kTrials;
        },
        &job, depth);
    std::printf("%zu frames: %.0f ns, %.1f ns a frame\n", job.stack.size, job.ns,
                job.ns / static_cast<double>(job.stack.size));
    EXPECT_GT(job.stack.size, static_cast<size_t>(depth));
  }
}

}  // namespace
}  // namespace fathom::collect
