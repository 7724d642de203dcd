#include "numa/waits.h"

#include "numa/slots.h"

namespace fathom::numa {

void begin_wait(Counter Thread::*waits) {
  const Hook hook;
  if (!hook) return;
  ((*hook).*waits).add(1);
  flush_slots(*hook, __fathom_numa_pages);
}

void end_wait(uint64_t since_ns) {
  const Hook hook;
  if (hook) hook->wait_ns.add(time_ns() - since_ns);
}

}  // namespace fathom::numa
