#include "cuda/gpu_file.h"

#include "cuda/hash.h"

namespace fathom::collect::cuda {

bool GpuFile::open(const std::string& path) {
  path_ = path;
  return file_.open(path);
}

uint32_t GpuFile::name(const char* text) {
  const std::string_view view = text == nullptr ? std::string_view() : std::string_view(text);
  const uint64_t hash = hash_of(view);
  uint32_t id = names_.find(hash);
  if (id != NodeMap::kAbsent) return id;
  id = next_name_++;
  file_.add_text(record::ChunkType::string, record::String{id}, {view});
  names_.insert(hash, id);
  return id;
}

}  // namespace fathom::collect::cuda
