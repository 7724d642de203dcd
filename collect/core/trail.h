#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::collect {

/// The last walk over a thread's stack, step by step. A step depends on nothing but pc, rsp, rbp
/// and the words that it reads from the stack. So when a new walk comes to a step of the last one,
/// and every word that was read from there on is still the same, so are all further frames, and
/// need no recipes.
class Trail {
 public:
  struct Step {
    uintptr_t pc, rsp, rbp;
    bool leading;     ///< still within the frames that are left out
    uint32_t words;   ///< words read before this step
    uint32_t frames;  ///< frames found before this step
  };
  struct Word {
    uintptr_t address, value;
  };
  static constexpr size_t kMaxSteps = 320;
  static constexpr size_t kMaxWords = 3 * kMaxSteps;
  static constexpr size_t kNone = SIZE_MAX;

  void clear() { size_ = words_ = 0; }

  /// The step of the last walk with this state, or kNone. Walks go up the stack: `from` is where
  /// the last search ended.
  size_t find(const Step& state, size_t& from) const {
    while (from < size_ && steps_[from].rsp < state.rsp) ++from;
    if (from == size_) return kNone;
    const Step& step = steps_[from];
    const bool same = step.pc == state.pc && step.rsp == state.rsp && step.rbp == state.rbp &&
                      step.leading == state.leading;
    return same ? from : kNone;
  }

  const Step& step(size_t index) const { return steps_[index]; }
  const Word* words_from(size_t index) const { return word_list_ + steps_[index].words; }
  const Word* words_end() const { return word_list_ + words_; }

  /// Recording; false once there is no room, when the trail ends early and is of no use.
  bool add(const Step& step) {
    if (size_ == kMaxSteps) return false;
    steps_[size_++] = step;
    return true;
  }
  bool add(const Word& word) {
    if (words_ == kMaxWords) return false;
    word_list_[words_++] = word;
    return true;
  }
  size_t size() const { return size_; }
  uint32_t words() const { return static_cast<uint32_t>(words_); }

 private:
  size_t size_ = 0, words_ = 0;
  Step steps_[kMaxSteps];
  Word word_list_[kMaxWords];
};

}  // namespace fathom::collect
