#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fathom {

/// A global or static variable of a program or library.
struct DataSymbol {
  uint64_t address = 0, size = 0;  ///< in the file; bytes
  std::string name;                ///< mangled, or as in the source where nothing mangles it
  std::string file;                ///< of its declaration; absolute if possible, may be empty
  uint32_t line = 0;               ///< 0: unknown
  std::string type;  ///< a struct's with its fields: "pair {first:0:8, second:8:8}"; may be empty
  uint32_t element_size = 0;  ///< of an array's elements, in its outermost dimension; 0: no array
};

/// The variables of a file, by address, from its symbol table and its debug information, in the
/// file or in a separate one beside the system's other debug files. Nothing for a file that cannot
/// be read; variables without debug information have neither a place nor a type.
std::vector<DataSymbol> read_data_symbols(const std::string& module_path);

}  // namespace fathom
