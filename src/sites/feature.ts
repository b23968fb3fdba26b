/** The beta feature *MCP connections*, which an operator switches on per site (specification). */
export const MCP_CONNECTIONS = 'mcp_connections'
