/** Whether the bot answers a question and why, in one sentence: the words of /kb test. */

import { scoreTexts } from "./formats.js";

/** @returns {"will" | "will_not" | "failed"} */
export function outcomeOf(answer) {
  if (answer.kind === "failed") {
    return "failed";
  }
  return answer.kind === "nothing_found" ? "will_not" : "will";
}

export function reasonOf(answer, words) {
  const { candidates, threshold } = answer;
  const best = candidates[0];
  if (answer.kind === "general") {
    return words.why_general;
  }
  if (answer.status === "usable") {
    const [score, bar] = best && best.score !== null ? scoreTexts(best.score, threshold) : [null, threshold.toFixed(2)];
    return words.why_usable(answer.counts.approved, score === null ? words.score_none(bar) : words.score_reaches(score, bar));
  }
  if (answer.kind === "failed" && !best) {
    return words.why_failed;
  }
  if (!answer.chunk_count) {
    return words.why_empty;
  }
  if (!best) {
    return words.why_no_recall;
  }
  switch (best.verdict) {
    case "below_score": {
      const [score, bar] = scoreTexts(best.score, threshold);
      return words.score_below(score, bar);
    }
    case "below_similarity":
      return words.why_similarity((best.cosine ?? 0).toFixed(2));
    case "too_few_qualified":
      return words.why_few;
    default:
      return words.why_nearest(words.verdicts[best.verdict] ?? best.verdict);
  }
}
