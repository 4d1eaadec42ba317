// Reads panels with the answers to their queries, and says the text and the colour that Grafana shows for each. All of it is
// Grafana's own code: here are only the frames, as its Prometheus data source makes them.
globalThis.navigator ??= { language: 'en-GB', languages: ['en-GB'] }; // a browser has one, and so has Node from 21 on

const { FieldType, createTheme, getDisplayProcessor, getFieldDisplayValues, reduceField, toDataFrame } = require('@grafana/data');
const { readFileSync } = require('node:fs');

const theme = createTheme();
const names = ['green', 'blue', 'orange', 'red', 'text', 'transparent'];
const known = new Map(names.map((name) => [theme.visualization.getColorByName(name), name]));
const shown = ({ text, prefix, suffix, color }) => ({ text: `${prefix ?? ''}${text}${suffix ?? ''}`, color: known.get(color) ?? 'other' });

const frame = ({ name, values }, config) =>
  toDataFrame({
    fields: [
      { name: 'Time', type: FieldType.time, values: values.map((_, place) => 60000 * place) },
      { name: name || 'Value', type: FieldType.number, values, config },
    ],
  });

// A figure or bars: what the panels themselves call, reduceField and the display processor included.
const figures = (panel, series) =>
  getFieldDisplayValues({
    data: series.map((one) => frame(one, panel.fieldConfig.defaults)),
    fieldConfig: panel.fieldConfig,
    reduceOptions: panel.options.reduceOptions,
    replaceVariables: (text) => text,
    theme,
  }).map((one) => shown(one.display));

// A cell or a band: one value in the settings of its field.
const value = (one, config) => {
  const [, field] = frame(one, config).fields;
  return shown(getDisplayProcessor({ field, theme })(reduceField({ field, reducers: ['last'] }).last));
};

const asked = JSON.parse(readFileSync(0, 'utf8'));
const answers = asked.map(({ panel, series, config }) => (config ? series.map((one) => value(one, config)) : figures(panel, series)));
process.stdout.write(JSON.stringify(answers));
