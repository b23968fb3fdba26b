/**
 * The beta feature *MCP connections*, which an operator switches on per site (specification, What
 * the service does 9).
 */
export const MCP_CONNECTIONS = 'mcp_connections'
