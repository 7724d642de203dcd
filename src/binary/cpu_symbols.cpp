#include "binary/cpu_symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <map>
#include <memory>

namespace fathom {
namespace {

std::string function_name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {unsigned(DW_AT_linkage_name), unsigned(DW_AT_MIPS_linkage_name)})
    if (dwarf_attr_integrate(die, kind, &attribute) != nullptr)
      if (const char* name = dwarf_formstring(&attribute)) return name;
  if (dwarf_attr_integrate(die, DW_AT_name, &attribute) != nullptr)
    if (const char* name = dwarf_formstring(&attribute)) return name;
  return {};
}

Returned what_is_returned(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  Dwarf_Die type, inner;
  if (dwarf_formref_die(dwarf_attr_integrate(function, DW_AT_type, &attribute), &type) == nullptr ||
      dwarf_peel_type(&type, &type) != 0 || dwarf_tag(&type) != DW_TAG_pointer_type)
    return Returned::other;
  bool has_type = dwarf_formref_die(dwarf_attr(&type, DW_AT_type, &attribute), &inner) != nullptr;
  return has_type ? Returned::pointer : Returned::pointer_to_void;
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

constexpr int kMaxNesting = 100;  // of scopes; damaged information may nest without end

/// Addresses and what lies there; looked up by the last range that begins before an address.
template <class Value>
struct RangeMap {
  struct Range {
    Dwarf_Addr low, high;
    Value value;
  };
  std::vector<Range> ranges;

  void add(Dwarf_Die* die, Dwarf_Addr bias, const Value& value) {
    Dwarf_Addr base = 0, low = 0, high = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;)
      if (low < high) ranges.push_back({low + bias, high + bias, value});
  }
  void sort() {
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const Range& a, const Range& b) { return a.low < b.low; });
  }
  Value* find(Dwarf_Addr address) {
    const auto after =
        std::upper_bound(ranges.begin(), ranges.end(), address,
                         [](Dwarf_Addr value, const Range& range) { return value < range.low; });
    if (after == ranges.begin() || address >= std::prev(after)->high) return nullptr;
    return &std::prev(after)->value;
  }
};

/// Gathers the functions below an entry that have code of their own.
void gather_functions(Dwarf_Die* parent, RangeMap<Dwarf_Die>& out, int nesting = 0) {
  Dwarf_Die child;
  if (nesting > kMaxNesting || dwarf_child(parent, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        out.add(&child, 0, child);
        [[fallthrough]];
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
        gather_functions(&child, out, nesting + 1);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

/// Appends what is inlined into a function at an address, outermost first.
void gather_inlined(Dwarf_Die* parent, Dwarf_Addr address, std::vector<Dwarf_Die>& out,
                    int nesting = 0) {
  Dwarf_Die child;
  if (nesting > kMaxNesting || dwarf_child(parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    const bool is_scope = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
                          tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
    if (!is_scope || dwarf_haspc(&child, address) <= 0) continue;
    if (tag == DW_TAG_inlined_subroutine) out.push_back(child);
    return gather_inlined(&child, address, out, nesting + 1);
  } while (dwarf_siblingof(&child, &child) == 0);
}

/// The units of a module and their functions by address. Some compilers leave out the table from
/// which libdw would know the unit.
class Units {
 public:
  explicit Units(Dwfl_Module* module) : module_(module) {}

  /// The unit that holds an address, or null; `bias` is what its own addresses lack.
  Dwarf_Die* find(Dwarf_Addr address, Dwarf_Addr& bias) {
    if (Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &bias)) return unit;
    if (!surveyed_) survey();
    Unit* unit = units_.find(address);
    if (unit == nullptr) return nullptr;
    bias = unit->bias;
    return unit->die;
  }

  /// The function at an address of a unit and what is inlined into it there, outermost first.
  std::vector<Dwarf_Die> functions_around(Dwarf_Die* unit, Dwarf_Addr address) {
    const auto [known, fresh] = functions_.try_emplace(dwarf_dieoffset(unit));
    if (fresh) {
      gather_functions(unit, known->second);
      known->second.sort();
    }
    Dwarf_Die* function = known->second.find(address);
    if (function == nullptr) return {};
    std::vector<Dwarf_Die> out{*function};
    gather_inlined(function, address, out);
    return out;
  }

 private:
  struct Unit {
    Dwarf_Die* die;
    Dwarf_Addr bias;
  };
  void survey() {
    surveyed_ = true;
    Dwarf_Die* unit = nullptr;
    Dwarf_Addr bias = 0;
    while ((unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr)
      units_.add(unit, bias, {unit, bias});
    units_.sort();
  }

  Dwfl_Module* module_;
  bool surveyed_ = false;
  RangeMap<Unit> units_;
  std::map<Dwarf_Off, RangeMap<Dwarf_Die>> functions_;
};

std::vector<CpuSymbolLevel> from_debug_information(Units& units, Dwarf_Addr address) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = units.find(address, bias);
  if (unit == nullptr) return {};
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  dwarf_getsrcfiles(unit, &files, &file_count);

  // The line of each level but the innermost is where the next one was called.
  std::vector<CpuSymbolLevel> out;
  for (auto& function : units.functions_around(unit, address - bias)) {
    if (!out.empty()) {
      out.back().line = unsigned_attribute(&function, DW_AT_call_line);
      const uint32_t file = unsigned_attribute(&function, DW_AT_call_file);
      if (files != nullptr && file < file_count)
        out.back().file = absolute(dwarf_filesrc(files, file, nullptr, nullptr), unit);
    }
    out.push_back({function_name(&function), "", 0, what_is_returned(&function)});
  }
  if (out.empty()) out.emplace_back();
  if (Dwarf_Line* line = dwarf_getsrc_die(unit, address - bias)) {
    int number = 0;
    dwarf_lineno(line, &number);
    out.back().line = static_cast<uint32_t>(std::max(number, 0));
    out.back().file = absolute(dwarf_linesrc(line, nullptr, nullptr), unit);
  }
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
