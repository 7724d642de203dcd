#pragma once
// The phases that synchronization cuts the run into. They are logical times: a thread that is
// created begins in a later phase than its creator was in before, whoever joins it goes on in a
// later one, and threads that meet at a barrier go on in one phase. They do not depend on the
// system's scheduling.

#include <atomic>
#include <cstdint>

#include "numa/thread.h"

namespace fathom::numa {

/// Hands in all that the thread has counted, as of phase `tag`.
/// `but_alone`: but what pages are counted as one by (alone.h).
void hand_in_phase(Thread& thread, uint32_t tag, bool but_alone = false);
/// Goes on in a later phase, if it is one.
void enter_phase(Thread& thread, uint32_t phase);

/// The thread is about to create one, or several without any other boundary between: they share a
/// phase. Returns the phase that the new one begins in.
uint32_t before_create(Thread& thread);
/// A thread that is parked does nothing for the program, and holds no phase open.
void park(Thread& thread);
void unpark(Thread& thread);
/// The thread waits for another to end, parked.
void before_join(Thread& thread);
void after_join(Thread& thread, const Thread* joined);

/// A group of threads that meets again and again. Two slots: who is fast cannot come to the next
/// but one meeting before the slow ones have left this one.
struct Meeting {
  std::atomic<uint32_t> latest[2];
};
void arrive(Thread& thread, Meeting& meeting, uint32_t round);
void leave(Thread& thread, Meeting& meeting, uint32_t round);

}  // namespace fathom::numa
