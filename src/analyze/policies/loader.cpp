// The plain loader: dlopen of a soname, which is also what a DT_NEEDED of that soname gives.
#include <array>

#include "cudart_doctor/analyze/policy_families.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 4> kSonames = {"libcudart.so.13", "libcudart.so.12",
                                                      "libcudart.so.11.0", "libcudart.so"};

template <std::size_t kIndex>
Selection decide_dlopen(const Policy& policy, const PolicyInput& input) {
  const LoaderQuery query{kSonames[kIndex], ctypes_caller(input.snapshot)};
  Selection selection =
      from_loader_answer(policy, input.snapshot, simulate_dlopen(input.snapshot, query));
  selection.chosen_text = std::string(kSonames[kIndex]);
  return selection;
}

template <std::size_t kIndex>
std::vector<DiskRequest> wanted_for(const Snapshot& snapshot) {
  return wanted_by_dlopen(snapshot, {kSonames[kIndex], ctypes_caller(snapshot)});
}

struct RowNames {
  std::string_view id;
  std::string_view rule;
  std::string_view title;
};

template <std::size_t kIndex>
Policy row(const RowNames& names) {
  return {.id = names.id,
          .rule = names.rule,
          .title = names.title,
          .vintage = "all",
          .source = "glibc 2.36, measured",
          .summary =
              "a loaded object of that name or soname, else RPATH, LD_LIBRARY_PATH, RUNPATH, "
              "ld.so.cache, default directories",
          .current = true,
          .wanted = wanted_for<kIndex>,
          .decide = decide_dlopen<kIndex>};
}

}  // namespace

std::vector<Policy> loader_policies() {
  return {row<0>({"dlopen:libcudart.so.13", "dt-needed:13", "dlopen libcudart.so.13"}),
          row<1>({"dlopen:libcudart.so.12", "dt-needed:12", "dlopen libcudart.so.12"}),
          row<2>({"dlopen:libcudart.so.11.0", "dt-needed:11", "dlopen libcudart.so.11.0"}),
          row<3>({"dlopen:libcudart.so", "", "dlopen libcudart.so"})};
}

}  // namespace cudart_doctor
