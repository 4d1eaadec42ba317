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
    [std.join(', ', shipped.targetLabels) + ', db', std.join(', ', $._config.targetLabels + ['db'])],
    [std.join(',', ['%s=%%q' % label for label in before]), std.join(',', ['%s=%%q' % label for label in labels])],
    [std.join(' ', ['$labels.' + label for label in before]), std.join(' ', ['$labels.' + label for label in labels])],
    [shipped.address, $._config.address],
  ])).groups,
  local dashboard(text) = std.parseJson(std.strReplace(text, shipped.address, $._config.address)),

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
