{{- define "guardian.name" -}}
{{- printf "%s" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "guardian.selector" -}}
app.kubernetes.io/name: guardian
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "guardian.labels" -}}
{{ include "guardian.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
