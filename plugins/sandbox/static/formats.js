/** Sizes, times and durations as people read them. */

const UNITS = ["B", "KB", "MB", "GB"];
const DAY_MS = 86_400_000;

/** sizeText(268435456) is "256 MB". */
export function sizeText(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? Math.round(value * 10) / 10 : Math.round(value)} ${UNITS[unit]}`;
}

/** The hour today, with the day before that. */
export function timeText(seconds, words) {
  const at = new Date(seconds * 1000);
  const clock = at.toLocaleTimeString(words.tag, { hour: "2-digit", minute: "2-digit", hour12: false });
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / DAY_MS);
  if (days === 0) {
    return clock;
  }
  if (days === 1) {
    return `${words.yesterday} ${clock}`;
  }
  const sameYear = at.getFullYear() === new Date().getFullYear();
  const day = at.toLocaleDateString(words.tag, { year: sameYear ? undefined : "numeric", month: "short", day: "numeric" });
  return `${day} ${clock}`;
}

export function clockText(seconds, words) {
  return new Date(seconds * 1000).toLocaleTimeString(words.tag, { hour12: false });
}

export function durationText(milliseconds, words) {
  if (milliseconds >= 1000) {
    return words.seconds((milliseconds / 1000).toFixed(1));
  }
  return words.milliseconds(milliseconds < 10 ? Math.round(milliseconds * 10) / 10 : Math.round(milliseconds));
}

/** 0.498 and 0.5 must not both read 0.50: both with four digits where two would look alike. */
export function scoreTexts(score, threshold) {
  const digits = score.toFixed(2) !== threshold.toFixed(2) || score === threshold ? 2 : 4;
  return [score.toFixed(digits), threshold.toFixed(digits)];
}

export const percentText = (share) => `${Math.round(share * 100)}%`;
