#include "measurement/records.h"

namespace fathom {

bool is_known_version(const Chunk& chunk, Complaints& complaints) {
  if (chunk.version == record::kFormatVersion) return true;
  complaints.add("chunks of another format version are skipped", chunk.offset,
                 WarningSeverity::note, "another Fathom wrote them; read them with that one");
  return false;
}

void note_unknown_type(const Chunk& chunk, Complaints& complaints) {
  complaints.add("chunks of a type that is unknown in this file are skipped", chunk.offset,
                 WarningSeverity::note, "another Fathom may have written them");
}

}  // namespace fathom
