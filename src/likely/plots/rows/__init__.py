"""Pictures of rows: their influence, wrong labels, drift, groups, and what checks found."""
