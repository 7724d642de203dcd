#pragma once

#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "record/writer.h"

namespace fathom::collect {

/// The programs and libraries that are mapped, each with an id that stays unique for the process.
class LoadModules {
 public:
  struct Place {
    uint32_t module = record::kNone;
    uint64_t address = 0;  ///< relative to the module's bias; absolute outside each module
  };

  /// Where an address of code lies. Looks for new modules if it is in none that is known.
  Place find(uintptr_t address);
  /// Looks for modules that came or went.
  void refresh();
  /// Writes a LoadModule record for each module that has not been written.
  void write_new(record::ChunkWriter& out);
  /// Changes whenever a module has gone: addresses may mean something else from then on.
  uint32_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct Module {
    record::LoadModule record;
    std::string path, build_id;
    bool written = false;
  };
  struct Survey;
  static int survey_one(dl_phdr_info* info, size_t size, void* data);
  void refresh_locked();
  const Module* find_locked(uintptr_t address) const;

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<Module> mapped_;  ///< by start address
  std::vector<Module> gone_;    ///< unwritten ones that are no longer mapped
  unsigned long long added_ = 0, removed_ = 0;
  uint32_t next_id_ = 0;
  std::atomic<uint32_t> generation_{1};
};

}  // namespace fathom::collect
