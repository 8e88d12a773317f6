// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/nodegraph"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/statushistory"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// panelKinds are the kinds of panel that the boards have. A new kind goes here:
// the SDK reads options only of those it was told of. (Its list of all plugins
// would do, but compiles them all.)
func panelKinds() []variants.PanelcfgConfig {
	return []variants.PanelcfgConfig{
		heatmap.VariantConfig(),
		nodegraph.VariantConfig(),
		stat.VariantConfig(),
		statetimeline.VariantConfig(),
		statushistory.VariantConfig(),
		table.VariantConfig(),
		timeseries.VariantConfig(),
	}
}

// strict is the SDK's own check: fields, types, and those constraints that
// Grafana's schema states. The SDK may return a non-nil error without a text
// for a board without fault.
func strict(raw []byte) error {
	runtime := cog.NewRuntime()
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
	for _, kind := range panelKinds() {
		runtime.RegisterPanelcfgVariant(kind)
	}
	var d dashboard.Dashboard
	if err := d.UnmarshalJSONStrict(raw); err != nil && err.Error() != "" {
		return err
	}
	if err := d.Validate(); err != nil && err.Error() != "" {
		return err
	}
	return nil
}

// kinds reports panels of a kind whose options strict did not look at.
func kinds(d dashboard.Dashboard) error {
	var faults []error
	for _, p := range panels(d) {
		if _, ok := cog.ConfigForPanelcfgVariant(p.Type); !ok {
			faults = append(faults, fmt.Errorf("%s: no such kind of panel: %s", title(p), p.Type))
		}
	}
	return errors.Join(faults...)
}
