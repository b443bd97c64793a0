"""The translator on a server: transport, the dialects of servers, and a model with the port's face."""
