#include "binary/data_symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include <algorithm>
#include <map>
#include <memory>

namespace fathom {
namespace {

constexpr int kMaxNesting = 100;  // of scopes and types; damaged information may nest without end
constexpr size_t kMostFields = 64;

std::string text_attribute(Dwarf_Die* die, unsigned kind) {
  Dwarf_Attribute attribute;
  const char* text = nullptr;
  if (dwarf_attr_integrate(die, kind, &attribute) != nullptr) text = dwarf_formstring(&attribute);
  return text == nullptr ? std::string() : std::string(text);
}

uint64_t number_attribute(Dwarf_Die* die, unsigned kind) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(die, kind, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &value) != 0)
    return 0;
  return value;
}

/// The type behind names, const, volatile and _Atomic. False: there is none.
bool type_of(Dwarf_Die* die, Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  if (dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) == nullptr)
    return false;
  Dwarf_Die peeled;
  for (int left = kMaxNesting; left > 0; --left) {
    switch (dwarf_tag(type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_atomic_type:
      case DW_TAG_restrict_type:
        if (dwarf_formref_die(dwarf_attr(type, DW_AT_type, &attribute), &peeled) == nullptr)
          return false;
        *type = peeled;
        break;
      default:
        return true;
    }
  }
  return false;
}

bool is_struct(Dwarf_Die* type) {
  int tag = dwarf_tag(type);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

uint64_t size_of(Dwarf_Die* type) {
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

/// Calls `use` for each member of a struct, until it returns false.
template <class Function>
void each_member(Dwarf_Die* type, Function use) {
  Dwarf_Die child;
  if (dwarf_child(type, &child) != 0) return;
  do {
    if (dwarf_tag(&child) == DW_TAG_member && !use(child)) return;
  } while (dwarf_siblingof(&child, &child) == 0);
}

/// What a type is called in a declaration; a struct's fields follow.
std::string type_text(Dwarf_Die* type, int nesting = 0) {
  std::string name = text_attribute(type, DW_AT_name);
  Dwarf_Die inner;
  if (nesting > kMaxNesting) return name;
  switch (dwarf_tag(type)) {
    case DW_TAG_pointer_type:
      if (!type_of(type, &inner)) return "void*";
      return (is_struct(&inner) ? text_attribute(&inner, DW_AT_name)
                                : type_text(&inner, nesting + 1)) +
             "*";
    case DW_TAG_array_type:
      return type_of(type, &inner) ? type_text(&inner, nesting + 1) + " []" : "[]";
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
      break;
    default:
      return name;
  }
  std::string fields;
  size_t count = 0;
  each_member(type, [&](Dwarf_Die& member) {
    std::string field = text_attribute(&member, DW_AT_name);
    Dwarf_Die kind;
    if (field.empty() || !type_of(&member, &kind)) return true;
    fields += (fields.empty() ? "" : ", ") + field + ":" +
              std::to_string(number_attribute(&member, DW_AT_data_member_location)) + ":" +
              std::to_string(size_of(&kind));
    return ++count < kMostFields;
  });
  if (name.empty()) name = "struct";
  return fields.empty() ? name : name + " {" + fields + "}";
}

bool is_fortran(Dwarf_Die* die) {
  Dwarf_Die unit;
  if (dwarf_diecu(die, &unit, nullptr, nullptr) == nullptr) return false;
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
      return true;
    default:
      return false;
  }
}

/// The number of elements in a dimension; 0 if it is unknown.
uint64_t count_of(Dwarf_Die* dimension) {
  if (uint64_t count = number_attribute(dimension, DW_AT_count)) return count;
  Dwarf_Attribute attribute;
  Dwarf_Sword lower = 0, upper = 0;
  if (dwarf_formsdata(dwarf_attr(dimension, DW_AT_upper_bound, &attribute), &upper) != 0) return 0;
  if (dwarf_formsdata(dwarf_attr(dimension, DW_AT_lower_bound, &attribute), &lower) != 0)
    lower = is_fortran(dimension) ? 1 : 0;
  return upper >= lower ? uint64_t(upper) - uint64_t(lower) + 1 : 0;
}

/// The size of what an array has one of for each index of its outermost dimension: the first one,
/// in Fortran the last. A struct with nothing but an array in it (std::array) counts as that array.
uint64_t element_size(Dwarf_Die type, uint64_t size) {
  Dwarf_Die inner;
  size_t members = 0;
  if (is_struct(&type)) {
    bool found = false;
    each_member(&type, [&](Dwarf_Die& member) {
      found = ++members == 1 && type_of(&member, &inner);
      return found;
    });
    if (!found || members != 1) return 0;
    type = inner;
  }
  if (dwarf_tag(&type) != DW_TAG_array_type) return 0;
  Dwarf_Die child;
  bool last = is_fortran(&type);
  uint64_t count = 0;
  if (dwarf_child(&type, &child) != 0) return 0;
  do {
    if (dwarf_tag(&child) == DW_TAG_subrange_type && (count == 0 || last)) count = count_of(&child);
  } while (dwarf_siblingof(&child, &child) == 0);
  return count && size % count == 0 ? size / count : 0;
}

/// The address of a variable that has one for the whole run.
bool address_of(Dwarf_Die* die, Dwarf_Addr bias, uint64_t& address) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_getlocation(dwarf_attr(die, DW_AT_location, &attribute), &operations, &count) != 0)
    return false;
  if (count != 1) return false;
  if (operations[0].atom == DW_OP_addr) {
    address = operations[0].number + bias;
    return true;
  }
  Dwarf_Attribute indirect;
  Dwarf_Addr value = 0;
  if ((operations[0].atom != DW_OP_addrx && operations[0].atom != DW_OP_GNU_addr_index) ||
      dwarf_getlocation_attr(dwarf_attr(die, DW_AT_location, &attribute), operations, &indirect) !=
          0 ||
      dwarf_formaddr(&indirect, &value) != 0)
    return false;
  address = value + bias;
  return true;
}

class SymbolReader {
 public:
  explicit SymbolReader(Dwfl_Module* module) : module_(module) {}

  std::vector<DataSymbol> read(Dwarf_Addr file_bias) {
    read_table();
    Dwarf_Die* unit = nullptr;
    Dwarf_Addr bias = 0;
    while ((unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr) {
      files_ = nullptr;
      file_count_ = 0;
      dwarf_getsrcfiles(unit, &files_, &file_count_);
      unit_ = unit;
      visit(unit, bias, 0);
    }
    std::vector<DataSymbol> out;
    for (auto& [address, symbol] : symbols_) {
      if (symbol.size == 0) continue;
      symbol.address = address - file_bias;
      out.push_back(std::move(symbol));
    }
    return out;
  }

 private:
  void read_table() {
    int count = dwfl_module_getsymtab(module_);
    for (int i = 1; i < count; ++i) {
      GElf_Sym symbol;
      GElf_Addr address = 0;
      const char* name =
          dwfl_module_getsym_info(module_, i, &symbol, &address, nullptr, nullptr, nullptr);
      if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 ||
          symbol.st_shndx == SHN_UNDEF)
        continue;
      DataSymbol& known = symbols_[address];
      // Of several names of one address, the one of the most bytes; "environ" rather than an alias.
      if (symbol.st_size <= known.size) continue;
      known.name = name;
      known.size = symbol.st_size;
    }
  }

  void visit(Dwarf_Die* parent, Dwarf_Addr bias, int nesting) {
    Dwarf_Die child;
    if (nesting > kMaxNesting || dwarf_child(parent, &child) != 0) return;
    do {
      switch (dwarf_tag(&child)) {
        case DW_TAG_variable:
          add(&child, bias);
          break;
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_common_block:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
          visit(&child, bias, nesting + 1);
          break;
        default:
          break;
      }
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  void add(Dwarf_Die* die, Dwarf_Addr bias) {
    uint64_t address = 0;
    Dwarf_Die type;
    if (!address_of(die, bias, address) || !type_of(die, &type)) return;
    DataSymbol& symbol = symbols_[address];
    uint64_t size = size_of(&type);
    if (symbol.line != 0 || (symbol.size != 0 && size > symbol.size)) return;
    if (symbol.name.empty()) symbol.name = text_attribute(die, DW_AT_name);
    if (symbol.size == 0) symbol.size = size;
    symbol.type = type_text(&type);
    symbol.element_size = uint32_t(std::min<uint64_t>(element_size(type, symbol.size), UINT32_MAX));
    symbol.line = uint32_t(number_attribute(die, DW_AT_decl_line));
    uint64_t file = number_attribute(die, DW_AT_decl_file);
    if (files_ != nullptr && file < file_count_)
      symbol.file = absolute(dwarf_filesrc(files_, file, nullptr, nullptr));
  }

  std::string absolute(const char* file) const {
    if (file == nullptr) return {};
    Dwarf_Attribute attribute;
    const char* directory = dwarf_formstring(dwarf_attr(unit_, DW_AT_comp_dir, &attribute));
    if (*file == '/' || directory == nullptr) return file;
    return std::string(directory) + "/" + file;
  }

  Dwfl_Module* module_;
  Dwarf_Die* unit_ = nullptr;
  Dwarf_Files* files_ = nullptr;
  size_t file_count_ = 0;
  std::map<uint64_t, DataSymbol> symbols_;
};

}  // namespace

std::vector<DataSymbol> read_data_symbols(const std::string& module_path) {
  Dwfl_Callbacks callbacks{};
  callbacks.find_elf = dwfl_build_id_find_elf;
  callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks.section_address = dwfl_offline_section_address;
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> session(dwfl_begin(&callbacks), &dwfl_end);
  if (session == nullptr) return {};
  dwfl_report_begin(session.get());
  Dwfl_Module* module =
      dwfl_report_offline(session.get(), module_path.c_str(), module_path.c_str(), -1);
  dwfl_report_end(session.get(), nullptr, nullptr);
  GElf_Addr bias = 0;
  if (module == nullptr || dwfl_module_getelf(module, &bias) == nullptr) return {};
  return SymbolReader(module).read(bias);
}

}  // namespace fathom
