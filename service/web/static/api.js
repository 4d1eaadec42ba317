// The operations of the document, drawn by Swagger UI. Nothing is asked of anybody but us.
SwaggerUIBundle({ url: "/api/v1/openapi.json", dom_id: "#swagger", deepLinking: true, validatorUrl: null, docExpansion: "list", defaultModelsExpandDepth: 0, supportedSubmitMethods: ["get"] });
