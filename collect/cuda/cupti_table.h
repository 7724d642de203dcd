#pragma once

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_pcsampling.h>
#include <cupti_result.h>
#include <cupti_version.h>

#include <string>

namespace fathom::collect::cuda {

// Every CUPTI function that the collector calls. The second list may be absent in older versions.
// clang-format off
#define FATHOM_CUPTI_REQUIRED(X)       \
  X(cuptiSubscribe)                    \
  X(cuptiUnsubscribe)                  \
  X(cuptiEnableCallback)               \
  X(cuptiGetCallbackName)              \
  X(cuptiGetResultString)              \
  X(cuptiGetVersion)                   \
  X(cuptiGetTimestamp)                 \
  X(cuptiGetContextId)                 \
  X(cuptiGetDeviceId)                  \
  X(cuptiGetStreamIdEx)                \
  X(cuptiActivityEnable)               \
  X(cuptiActivityRegisterCallbacks)    \
  X(cuptiActivityGetNextRecord)        \
  X(cuptiActivityGetNumDroppedRecords) \
  X(cuptiActivityFlushAll)
#define FATHOM_CUPTI_SAMPLING(X)               \
  X(cuptiGetCubinCrc)                          \
  X(cuptiPCSamplingSetConfigurationAttribute)  \
  X(cuptiPCSamplingGetConfigurationAttribute)  \
  X(cuptiPCSamplingEnable)                     \
  X(cuptiPCSamplingDisable)                    \
  X(cuptiPCSamplingGetData)                    \
  X(cuptiPCSamplingGetNumStallReasons)         \
  X(cuptiPCSamplingGetStallReasons)
// clang-format on

/// CUPTI, opened at run time: nothing here is linked against it, so that programs run on machines
/// that lack it.
class CuptiTable {
 public:
#define FATHOM_DECLARE(name) decltype(&::name) name = nullptr;
  FATHOM_CUPTI_REQUIRED(FATHOM_DECLARE)
  FATHOM_CUPTI_SAMPLING(FATHOM_DECLARE)
#undef FATHOM_DECLARE

  /// Opens the library that FATHOM_CUPTI names, else one that the program has loaded already, else
  /// the one on the library path, else the one of a toolkit. False with problem() if there is none.
  bool load();
  const std::string& problem() const {
    return problem_;
  }
  const std::string& path() const {
    return path_;
  }
  bool can_sample() const {
    return can_sample_;
  }
  std::string describe(CUptiResult result) const;

 private:
  bool open(const std::string& name);
  bool open_any();
  bool resolve();

  void* library_ = nullptr;
  bool can_sample_ = false;
  std::string path_, problem_;
};

/// What a user can do about an error; never empty.
std::string remedy(CUptiResult result);

}  // namespace fathom::collect::cuda
