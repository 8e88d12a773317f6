// SPDX-License-Identifier: Apache-2.0

package panel

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// NodeVariables are the variables of a board about one node: where from, which
// cluster (a label that need not exist), which node.
func NodeVariables() []cog.Builder[dashboard.VariableModel] {
	return []cog.Builder[dashboard.VariableModel]{
		dashboard.NewDatasourceVariableBuilder(DatasourceVariable).
			Label("Prometheus").
			Description("The Prometheus server that scrapes fabricd.").
			Type("prometheus"),
		labelVariable("cluster", "label_values(fabricd_build_info, cluster)").
			Label("Cluster").
			Description("The label cluster, where the servers set one; All where they do not.").
			IncludeAll(true).
			// Matches series without the label, too.
			AllValue(".*").
			Current(option("All", "$__all")),
		labelVariable("instance", `label_values(fabricd_build_info{cluster=~"$cluster"}, instance)`).
			Label("Node").
			Description("The scraped address of the node's fabricd."),
	}
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
