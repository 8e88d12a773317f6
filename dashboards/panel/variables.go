// SPDX-License-Identifier: Apache-2.0

package panel

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// NodeVariables are the variables of a board about one node: where from, which
// cluster (a label that need not exist), which node.
func NodeVariables() []cog.Builder[dashboard.VariableModel] {
	return append(origin(), node())
}

// FleetVariables are those of a board about many nodes: all, or those picked.
func FleetVariables() []cog.Builder[dashboard.VariableModel] {
	return append(origin(), everything(node()))
}

// RailVariable picks rails, by the names of RDMA devices: alike on equal nodes.
func RailVariable() cog.Builder[dashboard.VariableModel] {
	return everything(labelVariable("rail", "label_values("+Fleet("fabricd_rdma_port_info")+", device)").
		Label("Rail").
		Description("RDMA devices, which are called alike on equal nodes."))
}

// Fleet selects a metric of the nodes that the viewer picked.
func Fleet(metric string, matchers ...string) string {
	return Select(metric, append([]string{`cluster=~"$cluster"`, `instance=~"$instance"`}, matchers...)...)
}

// Select selects a metric by matchers.
func Select(metric string, matchers ...string) string {
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

// Top keeps a graph readable, whatever the number of series.
func Top(expr string) string { return "topk(20, " + expr + ")" }

// PerSecond is how fast the counters of a selector grow.
func PerSecond(selector string) string { return "rate(" + selector + "[$__rate_interval])" }

func origin() []cog.Builder[dashboard.VariableModel] {
	return []cog.Builder[dashboard.VariableModel]{
		dashboard.NewDatasourceVariableBuilder(DatasourceVariable).
			Label("Prometheus").
			Description("The Prometheus server that scrapes fabricd.").
			Type("prometheus"),
		everything(labelVariable("cluster", "label_values(fabricd_build_info, cluster)").
			Label("Cluster").
			Description("The label cluster, where the servers set one; All where they do not.")),
	}
}

func node() *dashboard.QueryVariableBuilder {
	return labelVariable("instance", `label_values(fabricd_build_info{cluster=~"$cluster"}, instance)`).
		Label("Node").
		Description("The scraped address of the node's fabricd.")
}

// everything lets several values be picked, and all, which stands for series
// without the label, too: an expression that names a thousand nodes is none.
func everything(v *dashboard.QueryVariableBuilder) *dashboard.QueryVariableBuilder {
	return v.Multi(true).IncludeAll(true).AllValue(".*").Current(option("All", "$__all"))
}

func labelVariable(name, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Datasource(Datasource()).
		Query(dashboard.StringOrMap{String: &query}).
		Definition(query).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortNaturalAsc)
}

func option(text, value string) dashboard.VariableOption {
	return dashboard.VariableOption{
		Selected: new(true),
		Text:     dashboard.StringOrArrayOfString{String: &text},
		Value:    dashboard.StringOrArrayOfString{String: &value},
	}
}
