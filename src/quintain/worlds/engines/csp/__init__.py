"""The csp engine: one propagating solver over variables, domains and rules; sheets to fill in and fields to probe."""
