#include "numa/alone.h"

#include "numa/options.h"
#include "numa/pages.h"
#include "numa/slots.h"
#include "numa/state.h"

namespace fathom::numa {
namespace {

constexpr uint8_t kPhasesAlone = 4;

bool owns_all_lines(const Share& share) {
  const PageLines& lines = *share.page_lines;
  for (const uint16_t owner : lines.owner)
    if (owner != 0 && owner != share.thread + 1) return false;
  return true;
}

}  // namespace

void count_alone(Thread& thread, Share& share, uint64_t reads, uint64_t writes) {
  if (!share.dirty) begin_page_phase(thread, share);
  count_in_page(thread, share, reads, writes);
}

void note_phase(Share& share, bool had_own_lines_only) {
  PageLines& lines = *share.page_lines;
  if (!had_own_lines_only || options().line_threshold == 0) {
    share.phases_alone = 0;
    return;
  }
  if (++share.phases_alone < kPhasesAlone) return;
  share.phases_alone = 0;
  if (!share.written.load(std::memory_order_relaxed) || share.granules != nullptr ||
      lines.copies != 0 || hot_lines(share) != 0 || !owns_all_lines(share))
    return;
  lines.alone.store(static_cast<uint16_t>(share.thread + 1));
  if (is_own(share)) forget_page(share.use->number);
}

void end_alone(Share& share) {
  Use& use = *share.use;
  {
    Held held(use.page->lock);
    const uint16_t alone = share.page_lines->alone.load(std::memory_order_relaxed);
    if (alone == 0 || alone == share.thread + 1) return;
    share.page_lines->alone.store(0);
  }
  clear_slots(use.number << kPageBits, (use.number + 1) << kPageBits);
}

}  // namespace fathom::numa
