// What a dashboard file may hold: Grafana's own types, read as JSON.
import type { AnnotationQuery, Dashboard, DataQuery, DataSourceRef, FieldConfigSource, Panel, RowPanel } from '@grafana/schema';
import type * as BarGauge from '@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen';
import type * as Stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as StateTimeline from '@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen';
import type * as Table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type * as TimeSeries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// Prometheus' query has no type in the package; these are the members that we use.
interface Query extends DataQuery {
  expr: string;
  legendFormat?: string;
  format?: 'time_series' | 'table';
  editorMode?: 'code' | 'builder';
  instant?: boolean;
  range?: boolean;
  interval?: string;
}

interface Annotation extends AnnotationQuery<Query> {
  titleFormat?: string;
  textFormat?: string;
  tagKeys?: string;
  // Of Prometheus' annotations: the value is the time, in milliseconds.
  useValueForTime?: boolean;
}

// A kind of panel with its own options, and with the least that each of ours has.
type Of<Kind extends string, Options, Custom = Record<string, never>> = Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> & {
  type: Kind;
  title: string;
  description: string;
  datasource: DataSourceRef;
  options: Options;
  fieldConfig: FieldConfigSource<Custom>;
  targets: Query[];
};

type Ours =
  | Of<'bargauge', BarGauge.Options>
  | Of<'stat', Stat.Options>
  | Of<'state-timeline', StateTimeline.Options, StateTimeline.FieldConfig>
  | Of<'table', Table.Options, Table.FieldConfig>
  | Of<'timeseries', TimeSeries.Options, TimeSeries.FieldConfig>
  | RowPanel;

// In JSON a member of a string enum is its text.
type Json<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T : { [K in keyof T]: Json<T[K]> };

export type File = Json<
  Omit<Dashboard, 'panels' | 'annotations'> & { panels: Ours[]; annotations: { list: Annotation[] } }
>;
