// latchscope for those who deploy by mixins: the shipped rules, alerts and dashboards, with an address and labels of your own.
//
//   local latchscope = (import 'latchscope/dashboards/mixin/mixin.libsonnet') + {
//     _config+:: { address: 'https://latchscope.example.com', targetLabels: ['cluster', 'env'], selector: 'job="latchscope"' },
//   };
local shipped = {
  address: 'http://127.0.0.1:8000',
  targetLabels: ['cluster', 'env', 'region'],
  own: ['rac', 'db'],
  gates: {
    critical: { share: '0.1', sessions: '5' },
    warning: { share: '0.02', sessions: '0.5' },
    undoSegments: '10000',
    pollSeconds: '0.5',
    queueSeconds: '5',
  },
};

{
  _config:: {
    // Where people reach latchscope's own pages.
    address: shipped.address,
    // Labels of targets that every rule keeps, beside rac and db.
    targetLabels: shipped.targetLabels,
    // Where people read the runbooks, also while latchscope is down.
    runbooks: self.address + '/runbooks',
    // Which series are latchscope's, such as 'job="latchscope"'; none: all that have its names.
    selector: '',
    // What costs enough to alert. Pages and diagnoses keep the gates of latchscope.
    gates: shipped.gates,
  },

  // Each name of latchscope's own metrics with the selector; a recorded series, whose name has a colon, has what it was made of.
  local narrowed(expr) =
    local member(done, part) =
      local rest = std.lstripChars(part, 'abcdefghijklmnopqrstuvwxyz_');
      local name = 'latchscope_' + part[:std.length(part) - std.length(rest)];
      local with = if std.startsWith(rest, '{') then '{' + $._config.selector + ', ' + rest[1:]
                   else '{' + $._config.selector + '}' + rest;
      done + name + (if std.endsWith(done, ':') || std.startsWith(rest, ':') then rest else with);
    local parts = std.split(expr, 'latchscope_');
    if $._config.selector == '' then expr else std.foldl(member, parts[1:], parts[0]),
  local gated(rule) =
    local gates = $._config.gates, ours = shipped.gates;
    local of(severity) = [
      ['"} >= ' + ours[severity][what] + end, '"} >= ' + gates[severity][what] + end]
      for what in ['share', 'sessions']
      for end in [' ', '\n']
    ];
    local alert = std.get(rule, 'alert', '');
    local severity = if std.objectHas(ours, std.get(rule.labels, 'severity', '')) then rule.labels.severity else '';
    replaced(rule.expr, (if severity == '' || std.startsWith(alert, 'Latchscope') then [] else of(severity)) + (
      if alert == 'UndoSegmentsGrowing' then [['> ' + ours.undoSegments, '> ' + gates.undoSegments]]
      else if alert == 'LatchscopePollTooCostly' then [['> ' + ours.pollSeconds, '> ' + gates.pollSeconds]]
      else if alert == 'LatchscopePollsQueue' then [['> ' + ours.queueSeconds, '> ' + gates.queueSeconds]]
      else []
    )),

  local labels = self._config.targetLabels + shipped.own,
  local before = shipped.targetLabels + shipped.own,
  local replaced(text, pairs) = std.foldl(function(done, pair) std.strReplace(done, pair[0], pair[1]), pairs, text),
  local groups(text) = std.parseYaml(replaced(text, [
    [std.join(', ', shipped.targetLabels) + ', rac', std.join(', ', $._config.targetLabels + ['rac'])],
    [std.join(', ', shipped.targetLabels) + ')', std.join(', ', $._config.targetLabels) + ')'],
    [std.join(', ', shipped.targetLabels) + ', job', std.join(', ', $._config.targetLabels + ['job'])],
    [std.join(', ', shipped.targetLabels) + ', db', std.join(', ', $._config.targetLabels + ['db'])],
    [std.join(',', ['%s=%%q' % label for label in before]), std.join(',', ['%s=%%q' % label for label in labels])],
    [std.join(' ', ['$labels.' + label for label in before]), std.join(' ', ['$labels.' + label for label in labels])],
    [shipped.address + '/runbooks', $._config.runbooks],
    [shipped.address, $._config.address],
  ])).groups,
  local configured(text) = [
    group { rules: [
      rule { expr: narrowed(if std.objectHas(rule, 'alert') then gated(rule) else rule.expr) }
      for rule in group.rules
    ] }
    for group in groups(text)
  ],
  // The same labels in the dashboards: in queries, legends and links, and a variable for each, like those that are shipped.
  local forms = ['%s, ', '%s=~\\"$%s\\",', ' {{%s}}', '&${%s:queryparam}', '&var-%s=${__data.fields.%s}'],
  local formed(form, names) = std.join('', [std.strReplace(form, '%s', name) for name in names]),
  local dashboard(text) =
    local made = std.parseJson(replaced(text, [
      [formed(form, shipped.targetLabels), formed(form, $._config.targetLabels)]
      for form in forms
    ] + [
      [std.join(', ', shipped.targetLabels) + ')', std.join(', ', $._config.targetLabels) + ')'],
      [shipped.address, $._config.address],
    ]));
    local variables = made.templating.list;
    local like = [one for one in variables if one.name == shipped.targetLabels[0]][0];
    local own = [one for one in variables if !std.member(shipped.targetLabels, one.name)];
    local added = [like { name: name, label: name, query: std.strReplace(like.query, like.name, name) } for name in $._config.targetLabels];
    made { templating+: { list: own[:1] + added + own[1:] } },

  grafanaDashboards+:: {
    'latchscope-fleet.json': dashboard(importstr '../grafana/dashboards/latchscope-fleet.json'),
    'latchscope-database.json': dashboard(importstr '../grafana/dashboards/latchscope-database.json'),
    'latchscope-health.json': dashboard(importstr '../grafana/dashboards/latchscope-health.json'),
  },
  prometheusRules+:: {
    groups+: configured(importstr '../prometheus/recording.yml') + configured(importstr '../prometheus/fleet.yml'),
  },
  prometheusAlerts+:: { groups+: configured(importstr '../prometheus/alerts.yml') },
}
