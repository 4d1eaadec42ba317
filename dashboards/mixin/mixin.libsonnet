// latchscope for those who deploy by mixins: the shipped rules, alerts and dashboards, with an address and labels of your own.
//
//   local latchscope = (import 'latchscope/dashboards/mixin/mixin.libsonnet') + {
//     _config+:: { address: 'https://latchscope.example.com', targetLabels: ['cluster', 'env'] },
//   };
local shipped = {
  address: 'http://127.0.0.1:8000',
  targetLabels: ['cluster', 'env', 'region'],
  own: ['rac', 'db'],
};

{
  _config:: {
    // Where people reach latchscope's own pages.
    address: shipped.address,
    // Labels of targets that every rule keeps, beside rac and db.
    targetLabels: shipped.targetLabels,
  },

  local labels = self._config.targetLabels + shipped.own,
  local before = shipped.targetLabels + shipped.own,
  local replaced(text, pairs) = std.foldl(function(done, pair) std.strReplace(done, pair[0], pair[1]), pairs, text),
  local groups(text) = std.parseYaml(replaced(text, [
    [std.join(', ', shipped.targetLabels) + ', rac', std.join(', ', $._config.targetLabels + ['rac'])],
    [std.join(', ', shipped.targetLabels) + ')', std.join(', ', $._config.targetLabels) + ')'],
    [std.join(', ', shipped.targetLabels) + ', job', std.join(', ', $._config.targetLabels + ['job'])],
    [std.join(',', ['%s=%%q' % label for label in before]), std.join(',', ['%s=%%q' % label for label in labels])],
    [std.join(' ', ['$labels.' + label for label in before]), std.join(' ', ['$labels.' + label for label in labels])],
    [shipped.address, $._config.address],
  ])).groups,
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
    groups+: groups(importstr '../prometheus/recording.yml') + groups(importstr '../prometheus/fleet.yml'),
  },
  prometheusAlerts+:: { groups+: groups(importstr '../prometheus/alerts.yml') },
}
