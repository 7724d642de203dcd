#include "views/advice.h"
#include "views/json_parts.h"

namespace fathom {

Result<std::string> advice_json(const Profile& profile, const AdviceOptions& options) {
  Result<Advice> advice = choose_advice(profile, options);
  if (!advice) return advice.error();
  Json findings = Json::array();
  for (const AdviceGroup& group : advice->groups)
    for (const Finding* finding : group.findings) findings.push_back(json_of(*finding));
  return text_of({{"schema_version", 1},
                  {"run", json_of(profile.run, profile.devices)},
                  {"findings", findings}});
}

}  // namespace fathom
