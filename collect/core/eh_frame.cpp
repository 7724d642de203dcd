#include "core/eh_frame.h"

#include <link.h>

#include <cstring>

#include "core/frame_program.h"

namespace fathom::collect {
namespace {

// Pointer encodings, Linux Standard Base 5.0 core, table 10.6.
enum : uint8_t {
  kUnsigned4 = 0x03,
  kSigned4 = 0x0b,
  kDataRelative = 0x30,
};

struct CommonInformation {
  FrameProgram::Alignment alignment;
  uint8_t pointer_encoding = 0;
  bool has_augmentation_data = false;
  bool signal_frame = false;
  MemoryRange program;
};

/// The bytes of one entry, after its length; `at` moves on to the next entry.
bool read_entry(FrameReader& in, MemoryRange& body) {
  uint64_t length = in.u32();
  if (length == 0xffffffffu) length = in.u64();
  body = {in.position(), in.position() + length};
  return !in.failed() && length > 0 && in.range().contains(in.position(), length);
}

bool read_augmentation(FrameReader& in, const char* letters, CommonInformation& out) {
  out.has_augmentation_data = *letters == 'z';
  if (!out.has_augmentation_data) return *letters == 0;
  const uint64_t size = in.uleb();
  const uintptr_t end = in.position() + size;
  for (++letters; *letters != 0; ++letters) {
    if (*letters == 'R') {
      out.pointer_encoding = in.u8();
    } else if (*letters == 'P') {
      const uint8_t encoding = in.u8();
      in.pointer(encoding);
    } else if (*letters == 'L') {
      in.u8();
    } else if (*letters == 'S') {
      out.signal_frame = true;
    }
  }
  in.seek(end);
  return !in.failed();
}

bool read_common(MemoryRange memory, uintptr_t at, CommonInformation& out) {
  FrameReader outer(memory, at);
  MemoryRange body;
  if (!read_entry(outer, body)) return false;
  FrameReader in(body, body.low);
  if (in.u32() != 0) return false;
  const uint8_t version = in.u8();
  if (version != 1 && version != 3) return false;
  const char* letters = in.c_string();
  out.alignment.code = in.uleb();
  out.alignment.data = in.sleb();
  const uint64_t return_register = version == 1 ? in.u8() : in.uleb();
  if (letters == nullptr || return_register != FrameProgram::kReturnAddress) return false;
  if (!read_augmentation(in, letters, out)) return false;
  out.program = {in.position(), body.high};
  return !in.failed();
}

/// The address of the entry whose function begins last at or before `pc`.
uintptr_t search_table(FrameReader& in, uintptr_t header, uint64_t count, uintptr_t pc) {
  const uintptr_t table = in.position();
  if (count == 0 || count > (in.range().high - table) / 8) return 0;
  uint64_t low = 0, high = count;  // the answer is in [low, high)
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    in.seek(table + middle * 8);
    const uintptr_t begin = header + static_cast<int64_t>(static_cast<int32_t>(in.u32()));
    (begin <= pc ? low : high) = middle;
  }
  in.seek(table + low * 8 + 4);
  return header + static_cast<int64_t>(static_cast<int32_t>(in.u32()));
}

uintptr_t find_entry(uintptr_t header, MemoryRange memory, uintptr_t pc) {
  FrameReader in(memory, header);
  const uint8_t version = in.u8(), frame_encoding = in.u8();
  const uint8_t count_encoding = in.u8(), table_encoding = in.u8();
  if (version != 1 || count_encoding != kUnsigned4 || table_encoding != (kDataRelative | kSigned4))
    return 0;
  in.pointer(frame_encoding);
  const uint64_t count = in.u32();
  return in.failed() ? 0 : search_table(in, header, count, pc);
}

}  // namespace

Recipe find_recipe(uintptr_t header, MemoryRange memory, uintptr_t pc) {
  const uintptr_t entry = find_entry(header, memory, pc);
  if (entry == 0) return {};
  FrameReader outer(memory, entry);
  MemoryRange body;
  if (!read_entry(outer, body)) return {};
  FrameReader in(body, body.low);
  const uint32_t back = in.u32();
  CommonInformation common;
  if (back == 0 || !read_common(memory, body.low - back, common)) return {};

  const uintptr_t begin = in.pointer(common.pointer_encoding);
  const uintptr_t size = in.pointer(common.pointer_encoding & 0x0f);
  if (common.has_augmentation_data) {
    const uint64_t augmentation = in.uleb();  // moves the position, and so stands apart
    in.seek(in.position() + augmentation);
  }
  if (in.failed() || pc < begin || pc - begin >= size) return {};

  FrameProgram program(common.alignment, begin, pc);
  if (!program.run(common.program, true)) return {};
  if (!program.run({in.position(), body.high}, false)) return {};
  Recipe recipe = program.recipe();
  recipe.signal_frame = common.signal_frame;
  return recipe;
}

namespace {

struct Search {
  uintptr_t pc;
  Recipe recipe;
};

bool begins_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

bool is_internal(const dl_phdr_info& info, MemoryRange code) {
  const auto own = reinterpret_cast<uintptr_t>(&is_internal);
  const char* path = info.dlpi_name == nullptr ? "" : info.dlpi_name;
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  // The program itself holds this code only in unit tests, whose frames are to be seen.
  if (code.contains(own, 1)) return *name != 0;
  return begins_with(name, "libcupti.so") || begins_with(name, "libcuda.so") ||
         begins_with(name, "libfathom_");
}

int look_into(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  MemoryRange code, tables;
  uintptr_t header = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const uintptr_t low = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search.pc >= low && search.pc - low < segment.p_memsz)
      code = {low, low + segment.p_memsz};
    if (segment.p_type == PT_GNU_EH_FRAME) header = low;
  }
  if (code.low == 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const uintptr_t low = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && header >= low && header - low < segment.p_filesz)
      tables = {low, low + segment.p_filesz};
  }
  if (tables.low != 0) search.recipe = find_recipe(header, tables, search.pc);
  search.recipe.in_module = true;
  search.recipe.internal = is_internal(*info, code);
  return 1;
}

}  // namespace

// Runs under the loader's lock, so that no module goes away while it is read.
Recipe find_recipe(uintptr_t pc) {
  Search search{pc, {}};
  dl_iterate_phdr(look_into, &search);
  return search.recipe;
}

}  // namespace fathom::collect
