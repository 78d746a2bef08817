package telemetry

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The variables of the OpenTelemetry specification (configuration/sdk-environment-variables and
// protocol/exporter) that say where traces go. The SDK itself reads OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and its argument, and OTEL_BSP_*.
const (
	envDisabled       = "OTEL_SDK_DISABLED"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	envTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	envTimeout        = "OTEL_EXPORTER_OTLP_TIMEOUT"
	envTracesTimeout  = "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"
)

// Variables are the variables that [NewTracer] reads, in the order of the reference.
func Variables() []string {
	return []string{
		envDisabled, envExporter, envEndpoint, envTracesEndpoint, envProtocol, envTracesProtocol,
		envHeaders, envTracesHeaders, envTimeout, envTracesTimeout,
	}
}

const otlpTimeout = 10 * time.Second // of the specification

// receiver is where traces go.
type receiver struct {
	url     *url.URL
	headers http.Header
	timeout time.Duration
}

// readReceiver returns the receiver that the environment names, or nil if traces are off.
func readReceiver(getenv func(string) string) (*receiver, error) {
	name := envTracesEndpoint // the whole URL; the other is the base of one
	if getenv(name) == "" {
		name = envEndpoint
	}
	if getenv(name) == "" || strings.EqualFold(getenv(envDisabled), "true") || getenv(envExporter) == "none" {
		return nil, nil
	}
	if e := getenv(envExporter); e != "" && e != "otlp" {
		return nil, fmt.Errorf("%s is %q; expected otlp or none", envExporter, e)
	}
	if p := cmp.Or(getenv(envTracesProtocol), getenv(envProtocol)); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("%s is %q; only http/protobuf is there, usually at port 4318", envProtocol, p)
	}
	u, err := url.Parse(getenv(name))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is not a URL; expected one such as http://localhost:4318", name)
	}
	if name == envEndpoint {
		u = u.JoinPath("v1", "traces")
	}
	r := &receiver{url: u, timeout: otlpTimeout}
	if r.headers, err = readHeaders(cmp.Or(getenv(envTracesHeaders), getenv(envHeaders))); err != nil {
		return nil, err
	}
	if text := cmp.Or(getenv(envTracesTimeout), getenv(envTimeout)); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%s is %q; expected milliseconds", envTimeout, text)
		}
		r.timeout = time.Duration(ms) * time.Millisecond
	}
	return r, nil
}

// readHeaders reads `name=value,name=value`, with values that are percent-encoded. Its error does not
// repeat a value, which may be a key.
func readHeaders(text string) (http.Header, error) {
	headers := http.Header{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, found := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil || strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("%s: the header %q is not written as name=value", envHeaders, name)
		}
		headers.Set(name, value)
	}
	return headers, nil
}
