#pragma once
// The struct that the program's code takes heap memory for.

#include <optional>

#include "numa/findings.h"

namespace fathom {

/// As instrumented code told it, by the names of functions that do not exist (instrument/types.h).
struct HeapType {
  std::string text;               ///< as DataVariable::type
  uint64_t size = 0;              ///< bytes
  std::vector<uint64_t> offsets;  ///< of the fields that were accessed, ascending
};

/// The type of an allocation, if it is one block of whole structs and nearly all of its sampled
/// accesses were to fields of the same one. Else nothing: it is better to name words than to guess.
std::optional<HeapType> heap_type_of(const NumaView& view, const Subject& subject);

}  // namespace fathom
