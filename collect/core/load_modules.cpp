#include "core/load_modules.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/lock.h"

namespace fathom::collect {
namespace {

std::string path_of(const char* name) {
  char buffer[PATH_MAX];
  if (name == nullptr || *name == 0) {
    const ssize_t size = readlink("/proc/self/exe", buffer, sizeof buffer);
    return size > 0 ? std::string(buffer, static_cast<size_t>(size)) : std::string();
  }
  if (realpath(name, buffer) != nullptr) return buffer;
  return name;  // the kernel's own page, or a file that is gone
}

/// The GNU build id among the notes in memory, in hexadecimal.
std::string build_id_of(uintptr_t notes, size_t size) {
  const auto padded = [](size_t bytes) { return (bytes + 3) & ~size_t(3); };
  while (size >= sizeof(ElfW(Nhdr))) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes);
    const size_t name = padded(note->n_namesz), body = padded(note->n_descsz);
    const size_t whole = sizeof *note + name + body;
    if (name > size || body > size || whole > size) break;
    const auto* text = reinterpret_cast<const char*>(note + 1);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
        std::memcmp(text, "GNU", 4) == 0) {
      std::string out;
      for (size_t i = 0; i < note->n_descsz; ++i) {
        const auto byte = static_cast<uint8_t>(text[name + i]);
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
      }
      return out;
    }
    notes += whole;
    size -= whole;
  }
  return {};
}

}  // namespace

struct LoadModules::Survey {
  const LoadModules* known;
  bool changed = false;
  unsigned long long added = 0, removed = 0;
  std::vector<Module> found;
};

int LoadModules::survey_one(dl_phdr_info* info, size_t, void* data) {
  auto& survey = *static_cast<Survey*>(data);
  if (survey.found.empty() && !survey.changed) {
    survey.added = info->dlpi_adds;
    survey.removed = info->dlpi_subs;
    survey.changed =
        survey.added != survey.known->added_ || survey.removed != survey.known->removed_;
    if (!survey.changed) return 1;
  }
  Module module{};
  module.record.start = ~uint64_t(0);
  module.record.bias = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const uint64_t low = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      module.record.start = std::min(module.record.start, low);
      module.record.end = std::max(module.record.end, low + segment.p_memsz);
    } else if (segment.p_type == PT_NOTE && module.build_id.empty()) {
      module.build_id = build_id_of(low, segment.p_memsz);
    }
  }
  if (module.record.end == 0) return 0;
  module.path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  survey.found.push_back(std::move(module));
  return 0;
}

void LoadModules::refresh_locked() {
  Survey survey{this};
  dl_iterate_phdr(survey_one, &survey);
  if (!survey.changed) return;
  const bool some_went = survey.removed != removed_;
  added_ = survey.added;
  removed_ = survey.removed;
  std::sort(survey.found.begin(), survey.found.end(),
            [](const Module& a, const Module& b) { return a.record.start < b.record.start; });
  for (auto& module : survey.found) {
    module.path = path_of(module.path.c_str());
    auto same = std::find_if(mapped_.begin(), mapped_.end(), [&](const Module& old) {
      return old.record.start == module.record.start && old.record.end == module.record.end &&
             old.path == module.path && old.build_id == module.build_id;
    });
    if (same != mapped_.end()) {
      module.record.id = same->record.id;
      module.written = same->written;
      same->written = true;
    } else {
      module.record.id = next_id_++;
    }
  }
  for (auto& old : mapped_)
    if (!old.written) gone_.push_back(std::move(old));
  mapped_ = std::move(survey.found);
  if (some_went) generation_.fetch_add(1, std::memory_order_acq_rel);
}

const LoadModules::Module* LoadModules::find_locked(uintptr_t address) const {
  auto after = std::upper_bound(
      mapped_.begin(), mapped_.end(), address,
      [](uintptr_t value, const Module& module) { return value < module.record.start; });
  if (after == mapped_.begin()) return nullptr;
  const Module& module = *--after;
  return address < module.record.end ? &module : nullptr;
}

LoadModules::Place LoadModules::find(uintptr_t address) {
  Locked locked(lock_);
  const Module* module = find_locked(address);
  if (module == nullptr) {
    refresh_locked();
    module = find_locked(address);
  }
  if (module == nullptr) return {record::kNone, address};
  return {module->record.id, address - module->record.bias};
}

void LoadModules::refresh() {
  const int saved = errno;
  Locked locked(lock_);
  refresh_locked();
  errno = saved;
}

void LoadModules::write_new(record::ChunkWriter& out) {
  Locked locked(lock_);
  const auto write = [&out](Module& module) {
    if (!module.written)
      out.add_text(record::ChunkType::load_module, module.record, {module.path, module.build_id});
    module.written = true;
  };
  for (auto& module : gone_) write(module);
  for (auto& module : mapped_) write(module);
  gone_.clear();
}

}  // namespace fathom::collect
