{{- define "latchscope.name" -}}
{{- if contains "latchscope" .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-latchscope" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "latchscope.selector" -}}
app.kubernetes.io/name: latchscope
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "latchscope.labels" -}}
{{ include "latchscope.selector" . }}
app.kubernetes.io/part-of: latchscope
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "latchscope.sqlite" -}}
{{- if hasPrefix "sqlite" .Values.config.store }}yes{{ end -}}
{{- end }}
