#pragma once
// From a chunk's payload to its records, within bounds. What a record means is its reader's matter.

#include <array>
#include <cstring>
#include <string_view>

#include "measurement/chunks.h"
#include "measurement/complaints.h"

namespace fathom {

/// How many strings follow the struct of each text record; 0 for records in fixed arrays.
template <class Record>
inline constexpr size_t kStringsOf = 0;
template <>
inline constexpr size_t kStringsOf<record::RunStart> = 5;
template <>
inline constexpr size_t kStringsOf<record::ProcessStart> = 3;
template <>
inline constexpr size_t kStringsOf<record::LoadModule> = 2;
template <>
inline constexpr size_t kStringsOf<record::Device> = 1;
template <>
inline constexpr size_t kStringsOf<record::Message> = 2;
template <>
inline constexpr size_t kStringsOf<record::String> = 1;
template <>
inline constexpr size_t kStringsOf<record::StallReasonName> = 1;
template <>
inline constexpr size_t kStringsOf<record::Disassembly> = 2;
template <>
inline constexpr size_t kStringsOf<record::Symbol> = 3;
template <>
inline constexpr size_t kStringsOf<record::DataSymbol> = 4;
template <>
inline constexpr size_t kStringsOf<record::PointerFunction> = 2;

/// False, with a note, for a chunk whose format this reader does not know.
bool is_known_version(const Chunk& chunk, Complaints& complaints);
/// For chunk types that have no business in this file, or that nobody here knows.
void note_unknown_type(const Chunk& chunk, Complaints& complaints);

template <class Record>
using Strings = std::array<std::string_view, kStringsOf<Record>>;

/// Calls `use(record)` for each record of the chunk, which returns what is wrong with that one (a
/// literal), or nullptr.
template <class Record, class Use>
requires(kStringsOf<Record> == 0) void for_each_record(const Chunk& chunk, Complaints& complaints,
                                                       Use use) {
  if (chunk.payload.size() % sizeof(Record) != 0)
    return complaints.add("a chunk whose size is no multiple of its records' size: left out",
                          chunk.offset);
  for (size_t at = 0; at < chunk.payload.size(); at += sizeof(Record)) {
    Record one;
    std::memcpy(&one, chunk.payload.data() + at, sizeof one);
    if (const char* wrong = use(one)) complaints.add(wrong, chunk.payload_offset() + at);
  }
}

/// The same for text records: `use(record, strings)`. A string that leaves the chunk costs the rest
/// of the chunk, because nobody knows where the next record begins.
template <class Record, class Use>
requires(kStringsOf<Record> > 0) void for_each_record(const Chunk& chunk, Complaints& complaints,
                                                      Use use) {
  ByteReader reader(chunk.payload);
  while (!reader.at_end()) {
    size_t start = reader.position();
    auto one = reader.read<Record>();
    Strings<Record> strings;
    for (std::string_view& text : strings) text = as_text(reader.take(reader.u32()));
    const char* wrong = reader.failed()
                            ? "a text record that leaves its chunk: the chunk's rest is left out"
                            : use(one, strings);
    if (wrong) complaints.add(wrong, chunk.payload_offset() + start);
  }
}

}  // namespace fathom
