#include "binary/cpu_symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace fathom {
namespace {

using Scopes = std::unique_ptr<Dwarf_Die, decltype(&std::free)>;

std::string function_name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {unsigned(DW_AT_linkage_name), unsigned(DW_AT_MIPS_linkage_name)})
    if (dwarf_attr_integrate(die, kind, &attribute) != nullptr)
      if (const char* name = dwarf_formstring(&attribute)) return name;
  if (dwarf_attr_integrate(die, DW_AT_name, &attribute) != nullptr)
    if (const char* name = dwarf_formstring(&attribute)) return name;
  return {};
}

std::string absolute(const char* file, Dwarf_Die* unit) {
  if (file == nullptr) return {};
  Dwarf_Attribute attribute;
  const char* directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  if (*file == '/' || directory == nullptr) return file;
  return std::string(directory) + "/" + file;
}

uint32_t unsigned_attribute(Dwarf_Die* die, unsigned kind) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, kind, &attribute), &value) != 0) return 0;
  return static_cast<uint32_t>(value);
}

bool is_function(Dwarf_Die* die) {
  const int tag = dwarf_tag(die);
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/// The functions around an address, innermost first, as concrete entries of the unit.
std::vector<Dwarf_Die> functions_around(Dwarf_Die* unit, Dwarf_Addr address) {
  std::vector<Dwarf_Die> out;
  Dwarf_Die* around = nullptr;
  const int count = dwarf_getscopes(unit, address, &around);
  const Scopes scopes(around, &std::free);
  const int innermost =
      static_cast<int>(std::find_if(around, around + std::max(count, 0),
                                    [](Dwarf_Die& die) { return is_function(&die); }) -
                       around);
  if (innermost >= count) return out;
  // The parents of an inlined function in that list are those of its definition. Ask for the ones
  // of the place that it is inlined into.
  Dwarf_Die* chain = nullptr;
  const int length = dwarf_getscopes_die(&scopes.get()[innermost], &chain);
  const Scopes owner(chain, &std::free);
  for (int i = 0; i < length; ++i)
    if (is_function(&chain[i])) {
      out.push_back(chain[i]);
      if (dwarf_tag(&chain[i]) == DW_TAG_subprogram) break;
    }
  return out;
}

/// The units of a module by address. Some compilers leave out the table from which libdw would
/// know.
class Units {
 public:
  explicit Units(Dwfl_Module* module) : module_(module) {}

  /// The unit that holds an address, or null; `bias` is what its own addresses lack.
  Dwarf_Die* find(Dwarf_Addr address, Dwarf_Addr& bias) {
    if (Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &bias)) return unit;
    if (!surveyed_) survey();
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), address,
                         [](Dwarf_Addr value, const Range& range) { return value < range.low; });
    if (after == ranges_.begin() || address >= std::prev(after)->high) return nullptr;
    bias = std::prev(after)->bias;
    return std::prev(after)->unit;
  }

 private:
  struct Range {
    Dwarf_Addr low, high, bias;
    Dwarf_Die* unit;
  };
  void survey() {
    surveyed_ = true;
    Dwarf_Die* unit = nullptr;
    Dwarf_Addr bias = 0;
    while ((unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr) {
      Dwarf_Addr base = 0, low = 0, high = 0;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &low, &high)) > 0;)
        if (low < high) ranges_.push_back({low + bias, high + bias, bias, unit});
    }
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.low < b.low; });
  }

  Dwfl_Module* module_;
  bool surveyed_ = false;
  std::vector<Range> ranges_;
};

std::vector<CpuSymbolLevel> from_debug_information(Units& units, Dwarf_Addr address) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = units.find(address, bias);
  if (unit == nullptr) return {};
  CpuSymbolLevel level;
  if (Dwarf_Line* line = dwarf_getsrc_die(unit, address - bias)) {
    int number = 0;
    dwarf_lineno(line, &number);
    level.line = static_cast<uint32_t>(std::max(number, 0));
    level.file = absolute(dwarf_linesrc(line, nullptr, nullptr), unit);
  }
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  dwarf_getsrcfiles(unit, &files, &file_count);

  std::vector<CpuSymbolLevel> out;
  for (auto& function : functions_around(unit, address - bias)) {
    level.function = function_name(&function);
    out.push_back(level);
    level = {};
    level.line = unsigned_attribute(&function, DW_AT_call_line);
    const uint32_t file = unsigned_attribute(&function, DW_AT_call_file);
    if (files != nullptr && file < file_count)
      level.file = absolute(dwarf_filesrc(files, file, nullptr, nullptr), unit);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// Debug information gives functions of one file a plain name only; the symbol table knows the
/// mangled one.
std::vector<CpuSymbolLevel> resolve(Dwfl_Module* module, Units& units, Dwarf_Addr address) {
  auto out = from_debug_information(units, address);
  const char* symbol = dwfl_module_addrname(module, address);
  if (symbol == nullptr) return out.empty() || out.front().function.empty() ? decltype(out){} : out;
  std::string name(symbol);
  name.erase(std::min(name.find('.', 1), name.size()));  // .cold, .part.0 and the like
  if (out.empty()) out.emplace_back();
  if (name.find(out.front().function) != std::string::npos) out.front().function = name;
  return out;
}

}  // namespace

std::vector<std::vector<CpuSymbolLevel>> resolve_cpu_addresses(
    const std::string& module_path, const std::vector<uint64_t>& addresses) {
  std::vector<std::vector<CpuSymbolLevel>> out(addresses.size());
  Dwfl_Callbacks callbacks{};
  callbacks.find_elf = dwfl_build_id_find_elf;
  callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks.section_address = dwfl_offline_section_address;
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> session(dwfl_begin(&callbacks), &dwfl_end);
  if (session == nullptr) return out;
  dwfl_report_begin(session.get());
  Dwfl_Module* module =
      dwfl_report_offline(session.get(), module_path.c_str(), module_path.c_str(), -1);
  dwfl_report_end(session.get(), nullptr, nullptr);
  GElf_Addr bias = 0;
  if (module == nullptr || dwfl_module_getelf(module, &bias) == nullptr) return out;
  Units units(module);
  for (size_t i = 0; i < addresses.size(); ++i)
    out[i] = resolve(module, units, addresses[i] + bias);
  return out;
}

}  // namespace fathom
