#include "views/json_parts.h"

namespace fathom {

Json json_of(const RunFacts& run, const std::vector<DeviceFacts>& devices) {
  Json names = Json::array();
  for (const DeviceFacts& device : devices) names.push_back(device.name);
  return {{"fathom_version", run.fathom_version},
          {"command", run.command},
          {"working_directory", run.working_directory},
          {"host", run.host},
          {"events", run.events},
          {"exit_code", run.exit_code},
          {"finished", run.finished},
          {"wall_seconds", run.wall_seconds},
          {"processes", run.processes},
          {"devices", names},
          {"sampling", run.sampling_period_log2 == 0 ? "none"
                       : run.sampling_serialized     ? "serialized"
                                                     : "continuous"},
          {"sampling_period_log2", run.sampling_period_log2},
          {"samples",
           {{"total", run.samples_total},
            {"attributed", run.samples_attributed},
            {"unattributed", run.samples_unattributed},
            {"dropped", run.samples_dropped},
            {"non_user", run.samples_non_user}}}};
}

Json json_of(const SourceLocation& at) {
  return {{"file", at.file}, {"line", at.line}};
}

Json json_of(const std::optional<SpeedupRange>& speedup) {
  if (!speedup) return nullptr;
  return {{"low", speedup->low}, {"mid", speedup->mid}, {"high", speedup->high}};
}

Json json_of(const Finding& finding) {
  Json related = Json::array(), evidence = Json::array();
  for (const RelatedLocation& r : finding.related)
    related.push_back(
        {{"role", r.role}, {"file", r.at.file}, {"line", r.at.line}, {"what", r.what}});
  for (const Evidence& e : finding.evidence)
    evidence.push_back({{"name", e.name}, {"value", e.value}, {"unit", e.unit}});
  return {{"kind", finding.kind},
          {"fix", finding.fix},
          {"subject", finding.subject},
          {"location", json_of(finding.location)},
          {"related", related},
          {"evidence", evidence},
          {"speedup", json_of(finding.speedup)},
          {"program_speedup", json_of(finding.program_speedup)},
          {"title", finding.title},
          {"text", finding.text},
          {"suggestions", finding.suggestions},
          {"assumptions", finding.assumptions}};
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fathom
