/// The style of a backtest's page, for light and dark themes and for phones.
enum BacktestPageStyle {
  static let text = """
    :root { color-scheme: light dark; --ground: #fff; --panel: #f4f5f7; --text: #1c2024; --dim: #5c636d; --line: #d9dce1;
      --equal: #b9c0ca; --changed: #d97706; --new: #15803d; --gone: #b42318; --mark: #fde68a; --markText: #1c2024; }
    @media (prefers-color-scheme: dark) { :root { --ground: #14171b; --panel: #1e2228; --text: #e6e8eb; --dim: #9aa3ae;
      --line: #343a43; --equal: #4b5460; --changed: #f59e0b; --new: #4ade80; --gone: #f87171; --mark: #854d0e;
      --markText: #fff; } }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
    main { max-width: 1080px; margin: 0 auto; padding: 20px 16px 60px; }
    h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere; }
    h2 { font-size: 17px; margin: 32px 0 8px; }
    h3 { font-size: 13px; margin: 10px 0 4px; color: var(--dim); font-weight: 600; }
    code, pre { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
    .about, .legend, small { color: var(--dim); }
    .bad { color: var(--gone); font-weight: 600; }
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 16px 0 12px; }
    .tile { background: var(--panel); border-radius: 8px; padding: 10px 12px; display: grid; }
    .tile b { font-size: 22px; font-weight: 650; }
    .bar { display: block; width: 100%; height: 12px; border-radius: 3px; background: var(--panel); }
    .counts { display: block; font-size: 12px; }
    .equal { fill: var(--equal); background: var(--equal); } .changed { fill: var(--changed); background: var(--changed); }
    .new { fill: var(--new); background: var(--new); } .gone { fill: var(--gone); background: var(--gone); }
    .key { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin: 0 5px 0 12px; }
    .legend .key:first-child { margin-left: 0; }
    .row { border-top: 1px solid var(--line); padding: 8px 0; }
    .row > summary { cursor: pointer; }
    .brief { display: block; margin-top: 2px; overflow-wrap: anywhere; } .brief code { font-weight: 400 !important; }
    .whom { margin: 6px 0; } a { color: inherit; }
    .line { display: block; min-height: 1.4em; padding-left: calc(var(--in) + 2ch); text-indent: calc(-1 * var(--in) - 2ch); }
    .row > summary code { font-weight: 600; }
    .same { opacity: .65; }
    table { border-collapse: collapse; width: 100%; margin: 8px 0; display: block; overflow-x: auto; }
    th { text-align: left; color: var(--dim); font-weight: 600; font-size: 12px; }
    td, th { padding: 3px 14px 3px 0; vertical-align: top; }
    .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .pair { display: grid; grid-template-columns: minmax(90px, 260px) 1fr minmax(110px, auto); gap: 12px; padding: 3px 0;
      align-items: center; }
    .pair svg { width: 100%; height: 20px; } .pair .before { fill: var(--equal); } .pair .after { fill: var(--changed); }
    .pair.same .after { fill: var(--equal); }
    .name { overflow-wrap: anywhere; } .figures { font-variant-numeric: tabular-nums; text-align: right; }
    .sides { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
    .sides > div { min-width: 0; } pre { margin: 0; padding: 10px; background: var(--panel); border-radius: 6px;
      white-space: pre-wrap; }
    mark { background: var(--mark); color: var(--markText); border-radius: 2px; }
    @media (max-width: 640px) { .sides { grid-template-columns: 1fr; }
      .pair { grid-template-columns: 1fr auto; } .pair svg { grid-column: 1 / -1; grid-row: 2; } }
    @media print { .row { break-inside: avoid; } }

    """
}
