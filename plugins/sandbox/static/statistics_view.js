/** The statistics of one group: what was asked, answered, resolved and cited, and what the models used. */

import { usePage } from "./context.js";
import { ask } from "./library.js";
import { html, useEffect, useState } from "./vendor/preact.js";

const PERIODS = [7, 30, 365];
const TILES = ["questions", "answered", "refused", "clarified", "reviewed", "waiting", "failed"];
const OUTCOMES = ["confirmed", "assumed", "denied"];

/** @param {{address: string, group: string, headers: Record<string, string>}} properties */
export function StatisticsView({ address, group, headers }) {
  const { words } = usePage();
  const [days, setDays] = useState(PERIODS[0]);
  const [found, setFound] = useState(null);
  const [failure, setFailure] = useState("");

  useEffect(() => {
    let current = true;
    ask(address, { group, days }, { headers }).then(
      (report) => current && setFound(report),
      (error) => current && setFailure(error.code),
    );
    return () => {
      current = false;
    };
  }, [days]);

  if (failure) {
    return html`<p class="warning" role="alert">${words.errors[failure] ?? words.errors.unknown}</p>`;
  }
  return html`<section class="statistics" aria-label=${words.statistics}>
    <p>
      <label
        >${words.statistics_period}${" "}
        <select value=${days} onChange=${(event) => setDays(Number(event.target.value))}>
          ${PERIODS.map((period) => html`<option key=${period} value=${period}>${words.statistics_days(period)}</option>`)}
        </select>
      </label>
    </p>
    ${found ? html`<${Figures} report=${found} />` : html`<p class="empty">${words.loading}</p>`}
  </section>`;
}

function Figures({ report }) {
  const { words } = usePage();
  const { turns } = report;
  const seconds = (value) => (value === null ? "—" : words.statistics_seconds(value.toFixed(1)));
  return html`<dl class="tiles">
      ${TILES.map((name) => html`<div key=${name}><dt>${words.statistics_turns[name]}</dt><dd>${turns[name]}</dd></div>`)}
      <div><dt>${words.statistics_median}</dt><dd>${seconds(report.median_s)}</dd></div>
      <div><dt>${words.statistics_p95}</dt><dd>${seconds(report.p95_s)}</dd></div>
    </dl>
    <${Lines} title=${words.statistics_resolved} rows=${OUTCOMES.map((name) => ({ name: words.statistics_turns[name], count: turns[name] }))} />
    <${Lines} title=${words.statistics_categories} rows=${report.categories.map(({ name, count }) => ({ name: words.categories[name] ?? name, count }))} />
    <${Lines} title=${words.statistics_topics} rows=${report.topics} />
    <${Lines} title=${words.statistics_most_cited} rows=${report.most_cited} />
    <${Lines} title=${words.statistics_never_cited(report.never_cited)} rows=${report.never_cited_first.map(({ name }) => ({ name, count: "" }))} />
    <${Lines}
      title=${words.statistics_usage}
      rows=${report.usage.map(({ feature, calls, tokens, cost }) => ({
        name: words.features[feature] ?? feature,
        count: words.statistics_used(calls, tokens, cost.toFixed(2)),
      }))}
    />`;
}

function Lines({ title, rows }) {
  return (
    rows.length > 0 &&
    html`<h3>${title}</h3>
      <ul class="figures">
        ${rows.map(({ name, count }, at) => html`<li key=${at}><span>${name}</span><span>${count}</span></li>`)}
      </ul>`
  );
}
