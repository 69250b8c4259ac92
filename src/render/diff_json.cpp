// `diff --json`: a small document of its own; docs/diff.md describes it.
#include "cudart_doctor/analyze/diff.hpp"
#include "cudart_doctor/render/diff.hpp"
#include "render/json_parts.hpp"

namespace cudart_doctor {
namespace {

std::string_view name_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added: return "added";
    case ChangeKind::removed: return "removed";
    case ChangeKind::changed: return "changed";
    case ChangeKind::not_compared: return "not_compared";
  }
  return {};
}

/// `key`, null where there is none or it is not known; then `key_reason` says why.
void put_side(Json& out, const std::string& key, const std::optional<Attribute>& side) {
  if (side && !side->known) {
    put_unknown(out, key, side->value);
  } else {
    put_known(out, key, side ? json_sentence(side->value) : Json(nullptr));
  }
}

Json change_json(const Change& change) {
  Json out;
  out["area"] = cudart_doctor::name_of(change.area);
  out["kind"] = name_of(change.kind);
  out["subject"] = json_sentence(change.subject);
  out["attribute"] = json_sentence_or_null(change.attribute);
  put_side(out, "before", change.before);
  put_side(out, "after", change.after);
  return out;
}

Json report_json(const Comparison& comparison, std::size_t index) {
  const ReportDigest& digest = comparison.reports[index];
  Json out;
  out["label"] = digest_label(index);
  out["name"] = json_bytes(digest.name);
  out["replayed"] = digest.replayed;
  out["target"] = json_sentence(digest.title);
  out["host"] = json_sentence_or_null(digest.host);
  out["generated_at"] = json_sentence_or_null(digest.generated_at);
  out["tool_version"] = json_sentence(digest.tool_version);
  out["worst"] = json_sentence_or_null(digest.worst);
  out["undecided"] = digest.undecided;
  out["headline"] = json_sentence(digest.sentence);
  out["unread"] = json_sentence_list(digest.blind);
  for (const UnreadArea& gap : digest.unread) {
    if (!gap.is_gap) continue;
    out["unread"].push_back(std::string(cudart_doctor::name_of(gap.area)) + ": " +
                            json_sentence(gap.reason).get_ref<const std::string&>());
  }
  return out;
}

Json group_json(const DigestGroup& group) {
  Json out;
  out["fingerprint"] = group.fingerprint;
  out["reports"] = Json::array();
  for (const std::size_t member : group.members) out["reports"].push_back(digest_label(member));
  return out;
}

Json hint_json(const MajorityHint& hint) {
  Json out;
  out["ignore"] = json_sentence_list(hint.ignored);
  out["reports"] = Json::array();
  for (const std::size_t member : hint.members) out["reports"].push_back(digest_label(member));
  return out;
}

Json pair_json(const DigestPair& pair) {
  Json out;
  out["from"] = digest_label(pair.first);
  out["to"] = digest_label(pair.second);
  out["changes"] = json_changes(pair.changes);
  return out;
}

}  // namespace

Json json_changes(const std::vector<Change>& changes) {
  Json out = Json::array();
  for (const Change& change : changes) out.push_back(change_json(change));
  return out;
}

std::string render_diff_json(const Comparison& comparison, int exit_code) {
  Json out;
  out["schema_version"] = 1;
  out["kind"] = "diff";
  out["equal"] = comparison.equal();
  out["reports"] = Json::array();
  for (std::size_t i = 0; i < comparison.reports.size(); ++i) {
    out["reports"].push_back(report_json(comparison, i));
  }
  out["groups"] = Json::array();
  for (const DigestGroup& group : comparison.groups) out["groups"].push_back(group_json(group));
  out["majority"] = comparison.majority ? Json(*comparison.majority) : Json(nullptr);
  out["differences"] = Json::array();
  for (const DigestPair& pair : comparison.pairs) out["differences"].push_back(pair_json(pair));
  out["hint"] = comparison.hint ? hint_json(*comparison.hint) : Json(nullptr);
  out["ignored_nothing"] = json_sentence_list(comparison.unused);
  out["exit_code"] = exit_code;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cudart_doctor
