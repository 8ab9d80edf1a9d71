// Differences between two strings, by character.

const MAX_EDITS = 600;
const MAX_DIFF_LENGTH = 20000;

// Segments [same, text] of both sides, or null if the strings have too little in common.
export function textDiff(expected, candidate) {
  if (expected.length + candidate.length > MAX_DIFF_LENGTH) return null;
  const ours = Array.from(expected), theirs = Array.from(candidate);
  let start = 0;
  while (start < ours.length && start < theirs.length && ours[start] === theirs[start]) start += 1;
  let end = 0;
  while (end < ours.length - start && end < theirs.length - start
    && ours[ours.length - 1 - end] === theirs[theirs.length - 1 - end]) end += 1;
  const shared = common(ours.slice(start, ours.length - end), theirs.slice(start, theirs.length - end));
  if (shared === null) return null;
  const inOurs = new Set(shared.map(([place]) => place + start));
  const inTheirs = new Set(shared.map(([, place]) => place + start));
  const share = (start + end + shared.length) * 2 / (ours.length + theirs.length);
  if (share < 0.4) return null;
  // Where one side lacks characters of the other.
  const gaps = [new Set(), new Set()];
  let last = [start, start];
  for (const [one, two] of [...shared.map((pair) => pair.map((place) => place + start)), [ours.length - end, theirs.length - end]]) {
    if (one === last[0] && two > last[1]) gaps[0].add(one);
    if (two === last[1] && one > last[0]) gaps[1].add(two);
    last = [one + 1, two + 1];
  }
  return [segments(ours, inOurs, start, end, gaps[0]), segments(theirs, inTheirs, start, end, gaps[1])];
}

// A place where characters are missing is a change without text.
function segments(text, shared, start, end, gaps) {
  const found = [];
  text.forEach((character, place) => {
    if (gaps.has(place)) found.push([false, ""]);
    const same = place < start || place >= text.length - end || shared.has(place);
    const last = found[found.length - 1];
    if (last && last[0] === same) last[1] += character;
    else found.push([same, character]);
  });
  if (gaps.has(text.length)) found.push([false, ""]);
  return mergeShortSegments(found);
}

// A single equal character between two changes is treated as changed.
function mergeShortSegments(found) {
  const joined = [];
  found.forEach(([same, text], place) => {
    const between = same && text.length === 1 && place > 0 && place < found.length - 1;
    const last = joined[joined.length - 1];
    const equal = same && !between;
    if (last && last[0] === equal) last[1] += text;
    else joined.push([equal, text]);
  });
  return joined;
}

// The longest common subsequence as pairs of indexes, by Myers' greedy algorithm; null if there are
// too many edits.
function common(one, two) {
  const most = Math.min(MAX_EDITS, one.length + two.length);
  const reach = new Map([[1, 0]]);
  const trace = [];
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(new Map(reach));
    for (let line = -edits; line <= edits; line += 2) {
      const down = line === -edits || (line !== edits && reach.get(line - 1) < reach.get(line + 1));
      let across = down ? reach.get(line + 1) : reach.get(line - 1) + 1;
      while (across < one.length && across - line < two.length && one[across] === two[across - line]) across += 1;
      reach.set(line, across);
      if (across >= one.length && across - line >= two.length) return backtrack(trace, one, two, edits);
    }
  }
  return null;
}

function backtrack(trace, one, two, edits) {
  const pairs = [];
  let across = one.length, along = two.length;
  for (let step = edits; step >= 0; step -= 1) {
    const reach = trace[step], line = across - along;
    const down = line === -step || (line !== step && reach.get(line - 1) < reach.get(line + 1));
    const before = down ? line + 1 : line - 1;
    const fromAcross = step ? reach.get(before) : 0, fromAlong = step ? fromAcross - before : 0;
    while (across > fromAcross && along > fromAlong) {
      if (one[across - 1] !== two[along - 1]) break;
      across -= 1;
      along -= 1;
      pairs.push([across, along]);
    }
    if (step) { across = fromAcross; along = fromAlong; }
  }
  return pairs.reverse();
}
